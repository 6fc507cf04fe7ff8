import type { PodPreparation } from "../worker/preparation.ts";

/** Prepares pods without any lookups. */
export const plainPreparation: PodPreparation = {
  sandbox: async ({ desired: { pod } }) => ({ labels: {}, hostname: pod.metadata?.name ?? "", hosts: [], pod }),
  container: async ({ state, desired, imageId }) => ({
    labels: {},
    imageId,
    command: [],
    args: [],
    environment: [],
    mounts: [],
    limits: {},
    oomScoreAdjustment: 1000,
    pod: state.desired.pod,
    container: desired.container,
  }),
  limits: () => ({}),
  credentials: async () => [],
};
