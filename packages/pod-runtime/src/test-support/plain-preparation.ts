import type { PodPreparation } from "../worker/preparation.ts";

/** Prepares pods without looking anything up. */
export const plainPreparation: PodPreparation = {
  sandbox: async ({ plan: { pod } }) => ({ labels: {}, hostname: pod.metadata?.name ?? "", hosts: [], pod }),
  container: async ({ state, planned, imageId }) => ({
    labels: {},
    imageId,
    command: [],
    args: [],
    environment: [],
    mounts: [],
    limits: {},
    oomScoreAdjustment: 1000,
    pod: state.plan.pod,
    container: planned.container,
  }),
  limits: () => ({}),
  credentials: async () => [],
};
