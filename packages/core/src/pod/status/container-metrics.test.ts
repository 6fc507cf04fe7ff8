import { noMetrics, type ContainerState, type ContainerStatus, type PodStatus } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { countContainers } from "./container-metrics.ts";

function status(state: ContainerState, rest: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: "main", image: "", imageID: "", ready: false, restartCount: 0, state, ...rest };
}

const waiting: ContainerState = { waiting: { reason: "ContainerCreating" } };
const running: ContainerState = { running: {} };
const ended = (exitCode: number, reason: string): ContainerState => ({ terminated: { exitCode, reason } });

function counted(before: PodStatus | undefined, after: PodStatus): string[] {
  const lines: string[] = [];
  const count = (name: string, labels = {}, value = 1): void => void lines.push([name, ...Object.values(labels), value].join(" "));
  countContainers({ ...noMetrics, count }, before, after);
  return lines;
}

const started = "kubelet_started_containers_total";
const terminated = "kubelet_terminated_containers_total";

test.each<[string, ContainerStatus | undefined, ContainerStatus, string[]]>([
  ["a container that waits is none yet", undefined, status(waiting), []],
  ["a container that runs was started", status(waiting), status(running), [`${started} container 1`]],
  ["a container that runs on is no news", status(running), status(running), []],
  ["a container that ends has ended", status(running), status(ended(3, "Error")), [`${terminated} container 3 Error 1`]],
  [
    "a container that nobody saw running was started and has ended",
    status(waiting),
    status(ended(0, "Completed")),
    [`${started} container 1`, `${terminated} container 0 Completed 1`],
  ],
  [
    "one that waits to be started again has ended",
    status(running),
    status({ waiting: { reason: "CrashLoopBackOff" } }, { lastState: ended(1, "Error") }),
    [`${terminated} container 1 Error 1`],
  ],
  [
    "and is started again",
    status({ waiting: { reason: "CrashLoopBackOff" } }, { lastState: ended(1, "Error") }),
    status(running, { restartCount: 1, lastState: ended(1, "Error") }),
    [`${started} container 1`],
  ],
  [
    "each of several restarts counts",
    status(running),
    status(running, { restartCount: 3, lastState: ended(137, "OOMKilled") }),
    [`${started} container 3`, `${terminated} container 137 OOMKilled 3`],
  ],
  [
    "a count that goes back, of a pod that was made anew, is nothing",
    status(running, { restartCount: 3, lastState: ended(1, "Error") }),
    status(running),
    [],
  ],
  [
    "a reason that only one provider has is one of the others",
    status(running),
    status(ended(9, "back end 4711 was drained")),
    [`${terminated} container 9 Other 1`],
  ],
])("%s", (_, before, after, expected) => {
  expect(counted({ containerStatuses: before ? [before] : [] }, { containerStatuses: [after] })).toEqual(expected);
});

test("containers are told apart by type and name", () => {
  const after: PodStatus = {
    initContainerStatuses: [status(running)],
    containerStatuses: [status(running), status(waiting, { name: "side" })],
    ephemeralContainerStatuses: [status(running)],
  };

  expect(counted(undefined, after)).toEqual([`${started} init_container 1`, `${started} container 1`, `${started} ephemeral_container 1`]);
  expect(counted(after, { containerStatuses: [status(running), status(running, { name: "side" })] })).toEqual([`${started} container 1`]);
});

test.each(["Completed", "Error", "OOMKilled", "ContainerCannotRun", "StartError", "DeadlineExceeded", "ContainerStatusUnknown"])(
  "the reason %s is counted by its name",
  (reason) => {
    expect(counted({ containerStatuses: [status(running)] }, { containerStatuses: [status(ended(1, reason))] })).toEqual([
      `${terminated} container 1 ${reason} 1`,
    ]);
  },
);
