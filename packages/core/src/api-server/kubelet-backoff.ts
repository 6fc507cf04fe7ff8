import type { Backoff } from "@virtual-kubelet/kube-client";

/** A kubelet's back-off for its Lease and its registration. Source: component-helpers v0.36.3 apimachinery/lease. */
export const kubeletBackoff: Backoff = { initialMs: 100, maxMs: 7_000 };
