import {
  podRef,
  type ContainerStatus,
  type DeepReadonly,
  type PodRef,
  type PodUpdate,
  type Provider,
  type ProviderPod,
} from "@virtual-kubelet/core";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import { mapContainers, withStatus } from "../broken-provider.ts";
import { forever, hangingMock, mock, never, processes, recording, type Row } from "./bases.ts";

/** Faults in what becomes of pods, and in the list of them. */
export const podFaults: readonly Row[] = [
  // Lifecycle
  [
    "never answers a create",
    "a pod runs, is ready",
    /^createPod has not come back within 1000 ms/,
    hangingMock(() => ({ createPod: () => forever })),
  ],
  [
    "drops the args of a container",
    "a container runs its command followed by its args",
    /command \["sh"\] with its args ends with 7, and is told as/,
    processes((provider) => ({
      createPod: (pod, resolved, signal) =>
        provider.createPod(
          pod,
          { ...resolved, commandLine: async (name) => ({ ...(await resolved.commandLine(name, signal)), args: [] }) },
          signal,
        ),
    })),
  ],
  [
    "tells a wrong exit code",
    "a pod whose command fails is Failed, with its exit code",
    /it ended with 7, and is told as Failed with exit code 1/,
    mock(withStatus(mapContainers((container) => withExitCode(container, 1)))),
  ],
  [
    "says that it has deleted a pod that is not there",
    "a call for a pod that does not exist fails with NotFound",
    /deletePod must throw NotFoundError for a pod that is not there/,
    mock((provider) => ({
      deletePod: (ref, options, signal) =>
        provider.deletePod(ref, options, signal).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        }),
    })),
  ],
  [
    "does not heed the grace",
    "a container that ignores the stop signal is killed when its grace period ends, and not earlier",
    /given 2 s of grace/,
    mock((provider) => ({ deletePod: (ref, _options, signal) => provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal) })),
  ],
  [
    "tells that a pod is gone while its containers still run",
    "a container that ignores the stop signal is killed when its grace period ends, and not earlier",
    /given 2 s of grace, and its end was told within the first/,
    mock((provider) => {
      let tell: (update: PodUpdate) => void = () => {};
      return {
        notifyPods(listener) {
          tell = listener;
          provider.notifyPods?.(listener);
        },
        async deletePod(ref, options, signal) {
          await provider.deletePod(ref, options, signal);
          tell({ ref, gone: true });
        },
      };
    }),
  ],
  [
    "leaves something of a deleted pod at the back end",
    "a deleted pod leaves nothing at the back end",
    /the pods are gone, and the back end still holds instance-/,
    recording(hidingDeleted),
  ],
  [
    "says that a pod ends when it is gone, and calls it gone while its containers still run",
    "a pod with endsWhenGone has left nothing behind when its end is reported",
    /its status has endsWhenGone, it is gone, and the back end still holds instance-/,
    recording((provider, host) => {
      const told = { ...provider, ...withStatus((status) => ({ ...status, endsWhenGone: true }))(provider, host) };
      return { ...told, ...hidingDeleted(told) };
    }),
  ],
  [
    "lists a pod that is gone",
    "a deleted pod ends within its grace period and is gone",
    /getPods lists a pod that is gone/,
    mock((provider) => {
      const known = new Map<string, ProviderPod>();
      return {
        async getPods(signal) {
          for (const pod of (await provider.getPods(signal)).pods) known.set(pod.ref.uid, pod);
          return { pods: [...known.values()], complete: true };
        },
        async deletePod(ref, options, signal) {
          known.set(ref.uid, await provider.getPod(ref, signal));
          await provider.deletePod(ref, options, signal);
        },
      };
    }),
  ],
  [
    "changes the pod that it was given",
    "a pod runs, is ready",
    /the provider changed its metadata\.annotations\.seen/,
    mock((provider) => ({
      createPod(pod, resolved, signal) {
        Object.assign(pod.metadata?.annotations ?? {}, { seen: "yes" });
        return provider.createPod(pod, resolved, signal);
      },
    })),
  ],
  // Identity and ownership
  [
    "takes the name for the identity",
    "another UID under a pod's name",
    /Missing expected rejection/,
    mock((provider, { nodeName, clusterId }) => {
      const real = async (name: string, signal: AbortSignal): Promise<ProviderPod> => {
        const found = (await provider.getPods(signal)).pods.find(({ ref }) => ref.name === name);
        if (!found) throw new NotFoundError("no such name");
        return { ...found, owner: { nodeName, clusterId } };
      };
      return {
        getPod: ({ name }, signal) => real(name, signal),
        getPodStatus: async ({ name }, signal) => (await real(name, signal)).status,
      };
    }),
  ],
  [
    "reports a pod with another UID",
    "every report of a pod has its namespace, name and UID",
    /getPod tells of a pod with another namespace, name or UID/,
    mock((provider) => ({
      getPod: async (ref, signal) => ({ ...(await provider.getPod(ref, signal)), ref: { ...ref, uid: ref.name } }),
    })),
  ],
  [
    "forgets who owns a pod",
    "a pod at the back end is tagged with cluster and node, and has its creation time",
    /owner must be the tag/,
    mock((provider) => ({
      getPod: async (ref, signal) => ({ ...(await provider.getPod(ref, signal)), owner: { clusterId: "", nodeName: "" } }),
    })),
  ],
  [
    "leaves out when a pod was made",
    "a pod at the back end is tagged with cluster and node, and has its creation time",
    /createdAt is missing/,
    mock((provider) => ({
      getPod: async (ref, signal) => ({ ...(await provider.getPod(ref, signal)), createdAt: undefined }),
    })),
  ],
  // Idempotence and adoption
  [
    "makes a pod twice",
    "a pod that is created twice runs once",
    /made another instance|more than once/,
    mock((provider) => ({
      async createPod(pod, resolved, signal) {
        await provider.deletePod(podRef(pod), { gracePeriodSeconds: 0 }, signal).catch(() => {});
        // Its times are whole seconds.
        await new Promise((resolve) => setTimeout(resolve, 1100));
        await provider.createPod(pod, resolved, signal);
      },
    })),
  ],
  [
    "fails where a pod is deleted twice",
    "a pod can be deleted two or three times",
    /409: the pod is being deleted/,
    mock((provider) => {
      const deleted = new Set<string>();
      return {
        async deletePod(ref, options, signal) {
          if (deleted.has(ref.uid)) throw new Error("409: the pod is being deleted");
          await provider.deletePod(ref, options, signal);
          deleted.add(ref.uid);
        },
      };
    }),
  ],
  [
    "ends its pods when the program ends",
    "a pod runs on while the program is stopped, and is then found with its tag, as the same instance",
    /the pod is not in the inventory after a restart of the program/,
    recording((provider) => ({
      async [Symbol.asyncDispose]() {
        const { pods } = await provider.getPods(never);
        for (const { ref } of pods) await provider.deletePod(ref, { gracePeriodSeconds: 0 }, never);
        await provider[Symbol.asyncDispose]?.();
      },
    })),
  ],
  // Inventory
  [
    "never answers a list",
    "all pods are listed",
    /^getPods has not come back within 1000 ms/,
    hangingMock(() => ({ getPods: () => forever })),
  ],
  [
    "cannot list its pods",
    "all pods are listed",
    /^getPods must list the pods: the list is out of order/,
    mock(() => ({ getPods: () => Promise.reject(new Error("the list is out of order")) })),
  ],
  [
    "says that a list without one of its pods is complete",
    "all pods are listed",
    /the list lacks 1 of 5 pods, and says that it is complete/,
    mock((provider) => ({
      getPods: async (signal) => ({ pods: (await provider.getPods(signal)).pods.slice(1), complete: true }),
    })),
  ],
  [
    "says that a list that failed is complete",
    "an incomplete list says so",
    /getPods must throw or say complete: false/,
    recording((provider) => ({ getPods: (signal) => provider.getPods(signal).catch(() => ({ pods: [], complete: true })) })),
  ],
  [
    "takes a back end that is away for one without the pod",
    "no pod is reported gone while the back end is unavailable, and all are found afterwards",
    /getPod answers NotFound though the back end was not reached/,
    recording((provider) => ({
      getPod: (ref, signal) =>
        provider.getPod(ref, signal).catch(() => {
          throw new NotFoundError("there is no such pod");
        }),
    })),
  ],
  [
    "answers a ping though its back end is away",
    "no pod is reported gone while the back end is unavailable, and all are found afterwards",
    /ping must throw/,
    recording(() => ({ ping: async () => {} })),
  ],
];

function withExitCode(container: DeepReadonly<ContainerStatus>, exitCode: number): DeepReadonly<ContainerStatus> {
  const { terminated } = container.state ?? {};
  return terminated ? { ...container, state: { terminated: { ...terminated, exitCode } } } : container;
}

/** Calls deleted pods gone, and deletes none. */
function hidingDeleted(provider: Pick<Provider, "getPod" | "getPodStatus">): Partial<Provider> {
  const hidden = new Set<string>();
  const shown = (ref: PodRef): PodRef => {
    if (hidden.has(ref.uid)) throw new NotFoundError(`pod ${ref.name} is deleted`);
    return ref;
  };
  return {
    deletePod: async (ref, _options, signal) => {
      await provider.getPod(shown(ref), signal);
      hidden.add(ref.uid);
    },
    getPod: async (ref, signal) => provider.getPod(shown(ref), signal),
    getPodStatus: async (ref, signal) => provider.getPodStatus(shown(ref), signal),
  };
}
