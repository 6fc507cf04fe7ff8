import type { ContainerState, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { nodeMetrics } from "./node-metrics.ts";
import { renderMetrics } from "./prometheus/exposition.ts";

function pod(...states: ContainerState[]): DeepReadonly<Pod> {
  const containerStatuses = states.map((state, index) => ({
    name: `c${index}`,
    image: "",
    imageID: "",
    ready: false,
    restartCount: 0,
    state,
  }));
  return { status: { containerStatuses } };
}

test("each node's pods and containers are counted", () => {
  const running = { running: {} };
  const nodes = [
    { nodeName: "n1", listPods: () => [pod(running, { waiting: {} }), pod({ terminated: { exitCode: 0 } })] },
    { nodeName: "n2", listPods: () => [] },
  ];

  const text = renderMetrics(nodeMetrics(nodes));

  expect(text.split("\n").filter((line) => !line.startsWith("#") && line !== "")).toEqual([
    'kubelet_active_pods{node="n1",static=""} 2',
    'kubelet_active_pods{node="n2",static=""} 0',
    'kubelet_desired_pods{node="n1",static=""} 2',
    'kubelet_desired_pods{node="n2",static=""} 0',
    'kubelet_node_name{node="n1"} 1',
    'kubelet_node_name{node="n2"} 1',
    'kubelet_running_containers{container_state="created",node="n1"} 0',
    'kubelet_running_containers{container_state="created",node="n2"} 0',
    'kubelet_running_containers{container_state="running",node="n1"} 1',
    'kubelet_running_containers{container_state="running",node="n2"} 0',
    'kubelet_running_containers{container_state="exited",node="n1"} 1',
    'kubelet_running_containers{container_state="exited",node="n2"} 0',
    'kubelet_running_pods{node="n1"} 1',
    'kubelet_running_pods{node="n2"} 0',
    'kubelet_working_pods{config="desired",lifecycle="sync",node="n1",static=""} 2',
    'kubelet_working_pods{config="desired",lifecycle="sync",node="n2",static=""} 0',
    'kubelet_working_pods{config="desired",lifecycle="terminating",node="n1",static=""} 0',
    'kubelet_working_pods{config="desired",lifecycle="terminating",node="n2",static=""} 0',
    'kubelet_working_pods{config="desired",lifecycle="terminated",node="n1",static=""} 0',
    'kubelet_working_pods{config="desired",lifecycle="terminated",node="n2",static=""} 0',
  ]);
});

test("pods count as active until they have ended, and as terminating while they are deleted", () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const pods: DeepReadonly<Pod>[] = [
    { status: { phase: "Pending" } },
    { metadata: { deletionTimestamp }, status: { phase: "Running" } },
    { status: { phase: "Succeeded" } },
    { metadata: { deletionTimestamp }, status: { phase: "Failed" } },
  ];

  const text = renderMetrics(nodeMetrics([{ nodeName: "n", listPods: () => pods }]));

  expect(text).toContain('kubelet_active_pods{node="n",static=""} 2\n');
  for (const [lifecycle, count] of [
    ["sync", 1],
    ["terminating", 1],
    ["terminated", 2],
  ] as const)
    expect(text).toContain(`kubelet_working_pods{config="desired",lifecycle="${lifecycle}",node="n",static=""} ${count}\n`);
});

test("a container that crashes again and again has ended, and its pod runs as long as its sandbox does", () => {
  const base = { name: "app", image: "", imageID: "", ready: false, restartCount: 2 };
  const terminated = { exitCode: 1, containerID: "docker://c2" };
  const pods: DeepReadonly<Pod>[] = [
    {
      status: {
        phase: "Running",
        conditions: [{ type: "PodReadyToStartContainers", status: "True" }],
        containerStatuses: [
          { ...base, containerID: "docker://c2", state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated } },
          { ...base, name: "again", containerID: "docker://c3", state: { running: {} }, lastState: { terminated } },
          { ...base, name: "made", containerID: "docker://c4", state: { waiting: { reason: "RunContainerError" } } },
          { ...base, name: "pulled", state: { waiting: { reason: "ContainerCreating" } } },
        ],
      },
    },
    { status: { phase: "Pending", conditions: [{ type: "PodReadyToStartContainers", status: "False" }] } },
  ];

  const text = renderMetrics(nodeMetrics([{ nodeName: "n", listPods: () => pods }]));

  for (const [state, count] of Object.entries({ created: 1, running: 1, exited: 2 }))
    expect(text).toContain(`kubelet_running_containers{container_state="${state}",node="n"} ${count}\n`);
  expect(text).toContain('kubelet_running_pods{node="n"} 1\n');
});
