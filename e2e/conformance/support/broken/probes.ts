import type { Container, DeepReadonly, ProviderPodStatus } from "@virtual-kubelet/core";
import { mapContainers, withStatus, type Change } from "../broken-provider.ts";
import { processes, type Row } from "./bases.ts";

type Probe = "startupProbe" | "readinessProbe" | "livenessProbe";

/** Faults in startup, readiness and liveness probes. */
export const probeFaults: readonly Row[] = [
  [
    "makes no readiness probe",
    "a container is ready when its readiness probe has passed",
    /must run, started true, ready false, restartCount 0, and is told as running, started true, ready true/,
    processes(withContainers(without("readinessProbe"))),
  ],
  [
    "calls a container ready before its readiness probe has passed",
    "a container is ready when its readiness probe has passed",
    /started true, ready false, .* and is told as running, started true, ready true/,
    processes(withStatus(mapContainers((each) => ({ ...each, ready: each.state?.running !== undefined })))),
  ],
  [
    "makes a readiness probe once",
    "a container is ready when its readiness probe has passed",
    /to be ready no longer/,
    processes((provider, host) => {
      let hasPassed = false;
      const sticky = (each: Parameters<Parameters<typeof mapContainers>[0]>[0]): typeof each => {
        hasPassed ||= each.ready;
        return { ...each, ready: hasPassed && each.state?.running !== undefined };
      };
      return withStatus(mapContainers(sticky))(provider, host);
    }),
  ],
  [
    "makes no startup probe",
    "until the startup probe has passed",
    /started false, ready false, .* and is told as/,
    processes(withContainers(without("startupProbe"))),
  ],
  [
    "makes liveness probes before the startup probe has passed",
    "until the startup probe has passed",
    /must run, started false, ready false, restartCount 0, and is told as terminated/,
    processes((provider, host) => ({
      ...withStatus(mapContainers((each) => ({ ...each, started: false, ready: false })))(provider, host),
      ...withContainers(without("startupProbe"))(provider, host),
    })),
  ],
  [
    "calls a container ready by its readiness probe though its startup probe has not passed",
    "until the startup probe has passed",
    /started false, ready false, .* and is told as running, started false, ready true/,
    processes((provider, host) => {
      const asked = new Set<string>();
      const isReady = (status: ProviderPodStatus): ProviderPodStatus =>
        asked.size === 0 ? status : mapContainers((each) => ({ ...each, ready: each.ready || each.state?.running !== undefined }))(status);
      return {
        ...withStatus(isReady)(provider, host),
        createPod(pod, resolved, signal) {
          if (pod.spec?.containers.some(({ readinessProbe }) => readinessProbe)) asked.add(pod.metadata?.uid ?? "");
          return provider.createPod(pod, resolved, signal);
        },
      };
    }),
  ],
  [
    "makes no liveness probe",
    "a container whose liveness probe fails is restarted and counted, and no other container of its pod is",
    /restartCount is 0/,
    processes(withContainers(without("livenessProbe"))),
  ],
  [
    "does not say that a container which its probe has ended did end",
    "a container whose liveness probe fails is restarted and counted, and no other container of its pod is",
    /lastState must say that it has ended/,
    processes(withStatus(mapContainers((each) => ({ ...each, lastState: {} })))),
  ],
  [
    "starts all containers of a pod again because of the probe of one",
    "a container whose liveness probe fails is restarted and counted, and no other container of its pod is",
    /container sibling must run, started true, ready true, restartCount 0, and is told as running, .* restartCount 1/,
    processes(
      withStatus((status) => {
        const restartCount = Math.max(0, ...(status.containerStatuses ?? []).map((each) => each.restartCount));
        return mapContainers((each) => ({ ...each, restartCount }))(status);
      }),
    ),
  ],
  [
    "starts a container with a failed probe again, and forgets that it did",
    "a container whose liveness probe fails is restarted and counted, and no other container of its pod is",
    /restartCount fell from 1 to 0/,
    processes((provider) => {
      let hasShown = false;
      const forget = mapContainers((each) => {
        const restartCount = hasShown ? 0 : each.restartCount;
        hasShown ||= each.restartCount > 0;
        return { ...each, restartCount };
      });
      return { getPodStatus: async (ref, signal) => forget(await provider.getPodStatus(ref, signal)) };
    }),
  ],
  [
    "takes the first failure of a probe for its last",
    "a probe fails only after failureThreshold failures in a row",
    /must run, started true, ready true, restartCount 0, and is told as terminated/,
    processes(withContainers(changed({ failureThreshold: 1 }))),
  ],
  [
    "starts a container with a failed probe again, whose policy is to restart never",
    "a failed liveness or startup probe ends a container under Never, which is not restarted",
    /to end: .*phase is Running/,
    processes((provider) => ({
      createPod: ({ spec, ...pod }, resolved, signal) =>
        provider.createPod({ ...pod, ...(spec && { spec: { ...spec, restartPolicy: "Always" } }) }, resolved, signal),
    })),
  ],
  [
    "lets a container run on whose startup probe has failed",
    "a failed liveness or startup probe ends a container under Never, which is not restarted",
    /to end: .*phase is Running/,
    processes(
      withContainers(({ startupProbe, ...rest }) => ({
        ...rest,
        ...(startupProbe && { startupProbe: { ...startupProbe, failureThreshold: 1_000 } }),
      })),
    ),
  ],
  [
    "waits for a probe that does not answer",
    "a probe that exceeds its timeout fails",
    /to end: .*phase is Running/,
    processes(withContainers(changed({ timeoutSeconds: 3600 }))),
  ],
];

/** Has each container go through a function before the provider gets it. */
function withContainers(change: (container: DeepReadonly<Container>) => DeepReadonly<Container>): Change {
  return (provider) => ({
    createPod: ({ spec, ...pod }, resolved, signal) =>
      provider.createPod({ ...pod, ...(spec && { spec: { ...spec, containers: spec.containers.map(change) } }) }, resolved, signal),
  });
}

function without(probe: Probe): (container: DeepReadonly<Container>) => DeepReadonly<Container> {
  return ({ [probe]: _, ...rest }) => rest;
}

function changed(fields: object): (container: DeepReadonly<Container>) => DeepReadonly<Container> {
  return ({ livenessProbe, ...rest }) => ({ ...rest, ...(livenessProbe && { livenessProbe: { ...livenessProbe, ...fields } }) });
}
