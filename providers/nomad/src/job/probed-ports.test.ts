import { expect, test } from "vitest";
import { containerWith, planOf, podWith, taskOf } from "../test-support/pods.ts";

const probed = containerWith({
  ports: [
    { containerPort: 80, name: "web" },
    { containerPort: 81, hostPort: 8081 },
  ],
  startupProbe: { tcpSocket: { port: 81 } },
  readinessProbe: { httpGet: { port: "web" } },
  livenessProbe: { httpGet: { port: 80 } },
});
const other = containerWith({ name: "other", livenessProbe: { grpc: { port: 9000 } }, readinessProbe: { exec: { command: ["x"] } } });
const pod = podWith({ containers: [probed, other] });
const elsewhere = podWith({ containers: [containerWith({ livenessProbe: { tcpSocket: { port: 1, host: "192.0.2.1" } } })] });

test("in a network of the client's, each port that is probed and has none of the client's gets one", () => {
  const [network] = planOf(pod, { network: "bridge" }).job.TaskGroups[0]?.Networks ?? [];

  expect(network?.DynamicPorts).toEqual([
    { Label: "probe_80", To: 80 },
    { Label: "probe_9000", To: 9000 },
  ]);
  expect(network?.ReservedPorts).toEqual([{ Label: "p8081_tcp", Value: 8081, To: 81 }]);
  expect(planOf(elsewhere, { network: "bridge" }).job.TaskGroups[0]?.Networks?.[0]?.DynamicPorts).toBeUndefined();
});

test("a container that has a network of its own maps its ports by itself", () => {
  const plan = planOf(podWith({ containers: [probed] }), { network: "task" });

  expect(plan.job.TaskGroups[0]?.Networks?.[0]).toMatchObject({ Mode: "host", DynamicPorts: [{ Label: "probe_80", To: 80 }] });
  expect(taskOf(plan).Config["ports"]).toEqual(["p8081_tcp", "probe_80"]);
});

test.each(["host", "cni/pods"])("in network %s pods are probed at their own ports", (network) => {
  expect(planOf(pod, { network }).job.TaskGroups[0]?.Networks?.[0]?.DynamicPorts).toBeUndefined();
});
