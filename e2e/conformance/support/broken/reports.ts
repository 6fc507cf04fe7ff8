import type { ProviderPodStatus } from "@virtual-kubelet/core";
import { mapContainers, withStatus } from "../broken-provider.ts";
import { mock, processes, recording, type Row } from "./bases.ts";

/** Faults in what is told of pods, and in what containers get. */
export const reportFaults: readonly Row[] = [
  // Status
  [
    "has no status for a container that does not run yet",
    "every report has a status for each container",
    /containerStatuses are of \[\], expected one for each of \[main\]/,
    mock((provider) => ({
      notifyPods: (listener) =>
        provider.notifyPods?.((update) =>
          listener("status" in update ? { ...update, status: { ...update.status, containerStatuses: [] } } : update),
        ),
    })),
  ],
  [
    "reports the status of another pod's container",
    "every report has a status for each container",
    /containerStatuses are of \[main other\], expected one for each of \[main\]/,
    mock(
      withStatus((status) => {
        const { containerStatuses = [] } = status;
        return { ...status, containerStatuses: [...containerStatuses, ...containerStatuses.map((each) => ({ ...each, name: "other" }))] };
      }),
    ),
  ],
  [
    "calls a container ready before it runs",
    "every report has a status for each container",
    /containerStatuses of main: is ready while it waits/,
    recording(withStatus(mapContainers((container) => ({ ...container, ready: true })))),
  ],
  [
    "calls a container ready after its end",
    "the status of an ended pod does not change any more",
    /containerStatuses of main: is ready though it has ended/,
    mock(withStatus(mapContainers((container) => (container.state?.terminated ? { ...container, ready: true } : container)))),
  ],
  [
    "lets a pod's phase go back",
    "a pod runs, is ready",
    /phase went from Running to Pending/,
    mock((provider) => {
      let asked = 0;
      return {
        async getPodStatus(ref, signal) {
          const status = await provider.getPodStatus(ref, signal);
          return status.phase === "Running" && ++asked === 2 ? { ...status, phase: "Pending" } : status;
        },
      };
    }),
  ],
  [
    "reports a pod that has ended as running",
    "the status of an ended pod does not change any more",
    /a pod that has ended stays as it ended|phase is Running|deep-equal/,
    mock((provider) => {
      let asked = 0;
      return {
        async getPodStatus(ref, signal) {
          const status = await provider.getPodStatus(ref, signal);
          return status.phase === "Failed" && ++asked > 1 ? { ...status, phase: "Running" } : status;
        },
      };
    }),
  ],
  [
    "hands over its own status object",
    "a returned status belongs to the core: the provider's next one is another object",
    /what the core does to a status changes the provider's own/,
    mock((provider) => {
      let own: ProviderPodStatus | undefined;
      return { getPodStatus: async (ref, signal) => (own ??= await provider.getPodStatus(ref, signal)) };
    }),
  ],
  // Notifications
  ["never notifies", "a pod that starts and ends by itself is reported", /its end was not told/, mock(() => ({ notifyPods: () => {} }))],
  [
    "tells nobody that a pod has ended",
    "a pod that starts and ends by itself is reported",
    /its end was not told/,
    mock((provider) => ({
      notifyPods: (listener) =>
        provider.notifyPods?.((update) => {
          if ("status" in update && update.status.phase === "Running") listener(update);
        }),
    })),
  ],
  // Secrets and environment
  [
    "logs the environment",
    "the values of a pod's secrets are in no log, status, list or error",
    /in the log or in a metric's label/,
    mock((provider, { logger }) => ({
      async createPod(pod, resolved, signal) {
        logger.debug({ env: await resolved.environment("main", signal) }, "creating a pod");
        await provider.createPod(pod, resolved, signal);
      },
    })),
  ],
  [
    "swallows the error of a missing secret",
    "a pod whose secret is missing is not created, and the error names the secret",
    /to wait for what is missing/,
    mock((provider) => ({
      createPod: (pod, resolved, signal) => provider.createPod(pod, { ...resolved, environment: async () => [] }, signal),
    })),
  ],
  [
    "drops a container's environment",
    "a container has the variables of its spec: plain, from secrets and config maps, and fields of the pod",
    /the container's environment lacks PLAIN=two {2}words & \$signs/,
    processes((provider) => ({
      createPod: (pod, resolved, signal) => provider.createPod(pod, { ...resolved, environment: async () => [] }, signal),
    })),
  ],
  // Several containers
  [
    "runs init containers in the wrong order",
    "init containers run one after another, and end before the others start",
    /the second init container began at .*, and the first ended at/,
    mock((provider) => ({
      createPod({ spec, ...pod }, resolved, signal) {
        const reversed = spec && { ...spec, ...(spec.initContainers && { initContainers: spec.initContainers.toReversed() }) };
        return provider.createPod({ ...pod, ...(reversed && { spec: reversed }) }, resolved, signal);
      },
    })),
  ],
  [
    "does not count restarts",
    "a container that fails is restarted, and counted, under Always and OnFailure",
    /restartCount is 0/,
    mock(withStatus(mapContainers((container) => ({ ...container, restartCount: 0 })))),
  ],
];
