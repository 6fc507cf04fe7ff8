import type { ContainerState, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { nodeMetrics } from "./node-metrics.ts";
import { renderMetrics } from "./exposition.ts";

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
    'kubelet_desired_pods{node="n1",static=""} 2',
    'kubelet_desired_pods{node="n2",static=""} 0',
    'kubelet_node_name{node="n1"} 1',
    'kubelet_node_name{node="n2"} 1',
    'kubelet_running_containers{container_state="created",node="n1"} 1',
    'kubelet_running_containers{container_state="created",node="n2"} 0',
    'kubelet_running_containers{container_state="running",node="n1"} 1',
    'kubelet_running_containers{container_state="running",node="n2"} 0',
    'kubelet_running_containers{container_state="exited",node="n1"} 1',
    'kubelet_running_containers{container_state="exited",node="n2"} 0',
    'kubelet_running_pods{node="n1"} 1',
    'kubelet_running_pods{node="n2"} 0',
  ]);
});
