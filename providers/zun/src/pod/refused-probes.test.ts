import type { Container, Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import type { ObjectKind } from "./pod-mode.ts";
import { refusedProbes } from "./refused-probes.ts";

const exec = { command: ["check"] };

function refused(container: Partial<Container>, kind: ObjectKind = "container", reachablePods = false): readonly string[] {
  const pod: Pod = { spec: { containers: [{ name: "main", image: "nginx", ...container }] } };
  return refusedProbes(pod, { kind, config: { reachablePods } }).map(({ fieldPath }) => fieldPath.replace("spec.containers[0].", ""));
}

test.each<[string, Partial<Container>, readonly string[]]>([
  ["commands are run", { startupProbe: { exec }, livenessProbe: { exec, timeoutSeconds: 5 }, readinessProbe: { exec } }, []],
  ["a command has five seconds", { livenessProbe: { exec, timeoutSeconds: 6 } }, ["livenessProbe.timeoutSeconds"]],
  ["a long command does not fit", { readinessProbe: { exec: { command: ["x".repeat(7_001)] } } }, ["readinessProbe.exec.command"]],
  ["HTTP needs a way to the pod", { livenessProbe: { httpGet: { port: 80 } } }, ["livenessProbe.httpGet"]],
  ["TCP needs a way to the pod", { startupProbe: { tcpSocket: { port: 80 } } }, ["startupProbe.tcpSocket"]],
  ["gRPC needs a way to the pod", { readinessProbe: { grpc: { port: 80 } } }, ["readinessProbe.grpc"]],
  ["another host is another matter", { livenessProbe: { httpGet: { host: "192.0.2.1", port: 80 } } }, []],
  [
    "a restart has thirty seconds",
    { livenessProbe: { exec, terminationGracePeriodSeconds: 31 } },
    ["livenessProbe.terminationGracePeriodSeconds"],
  ],
])("of a container, %s", (_, container, fields) => {
  expect(refused(container)).toEqual(fields);
});

test("where pods are reached, HTTP, TCP and gRPC are asked", () => {
  const probes = {
    startupProbe: { tcpSocket: { port: 80 } },
    livenessProbe: { grpc: { port: 80 } },
    readinessProbe: { httpGet: { port: 80 } },
  };

  expect(refused(probes, "container", true)).toEqual([]);
});

test("of a capsule only the readiness can be asked for, over the network", () => {
  expect(refused({ startupProbe: { exec }, livenessProbe: { tcpSocket: { port: 80 } } }, "capsule", true)).toEqual([
    "startupProbe",
    "livenessProbe",
  ]);
  expect(refused({ readinessProbe: { exec } }, "capsule", true)).toEqual(["readinessProbe.exec"]);
  expect(refused({ readinessProbe: { tcpSocket: { port: 80 } } }, "capsule", true)).toEqual([]);
});
