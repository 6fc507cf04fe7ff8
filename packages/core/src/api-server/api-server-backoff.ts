import type { Backoff } from "@virtual-kubelet/kube-client";

/** Back-off of retried calls to the API server, as a kubelet backs off for its Lease. Source: component-helpers v0.36.3 apimachinery/lease. */
export const apiServerBackoff: Backoff = { initialMs: 100, maxMs: 7_000 };
