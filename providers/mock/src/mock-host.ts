import type { ProviderHost } from "@virtual-kubelet/core";

/** The parts of {@link ProviderHost} that the mock uses. */
export type MockHost = Pick<ProviderHost, "nodeName" | "clusterId" | "nodeAddress" | "clock" | "resolvePod" | "listPods">;
