import type { ReasonCatalogue } from "@virtual-kubelet/core";

/** Reasons that the provider writes and core does not. */
export const reasons: ReasonCatalogue = {
  MockProviderPodDeleted: {
    on: ["podStatus"],
    meaning: "The simulated pod has ended because it was deleted.",
    remedy: "Nothing.",
  },
  MockProviderPodContainerDeleted: {
    on: ["containerTerminated"],
    meaning: "The simulated container has ended because its pod was deleted.",
    remedy: "Nothing.",
  },
};
