import type { Container, Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { checkHostPorts } from "./host-ports.ts";

type Port = NonNullable<Container["ports"]>[number];

function pod(uid: string, ports: Port[], more: { spec?: Partial<Pod["spec"]>; phase?: string } = {}): Pod {
  return {
    metadata: { uid },
    spec: { containers: [{ name: "app", ports }], ...more.spec },
    status: { phase: more.phase ?? "Running" },
  };
}

function isRefused(wanted: Pod, ...others: Pod[]): boolean {
  try {
    checkHostPorts(wanted, others);
    return false;
  } catch (error) {
    expect(error).toMatchObject({
      code: "VK_TERMINAL",
      reason: "NodePorts",
      message: "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    });
    return true;
  }
}

const http = { containerPort: 80, hostPort: 8080 };

describe("checkHostPorts", () => {
  test("refuses a port that another pod uses", () => {
    expect(isRefused(pod("b", [http]), pod("a", [http]))).toBe(true);
  });

  test("ignores the pod itself, and pods that have ended", () => {
    expect(isRefused(pod("a", [http]), pod("a", [http]), pod("b", [http], { phase: "Succeeded" }))).toBe(false);
  });

  test.for<[Partial<Port>, Partial<Port>, boolean]>([
    [{ hostPort: 8081 }, {}, false],
    [{ protocol: "UDP" }, { protocol: "TCP" }, false],
    [{ protocol: "TCP" }, {}, true],
    [{ hostIP: "127.0.0.1" }, { hostIP: "10.0.0.1" }, false],
    [{ hostIP: "127.0.0.1" }, { hostIP: "127.0.0.1" }, true],
    [{ hostIP: "127.0.0.1" }, {}, true],
  ])("%j beside %j: %j", ([wanted, taken, expected]) => {
    expect(isRefused(pod("b", [{ ...http, ...wanted }]), pod("a", [{ ...http, ...taken }]))).toBe(expected);
  });

  test("counts each container port of a pod on the node's network", () => {
    const onHost = pod("a", [{ containerPort: 8080 }], { spec: { hostNetwork: true } });
    expect(isRefused(pod("b", [http]), onHost)).toBe(true);
    expect(isRefused(pod("b", [{ containerPort: 8080 }]), onHost)).toBe(false);
  });

  test("counts ports of sidecars, not of other init containers", () => {
    const withInit = (restartPolicy?: string): Pod =>
      pod("a", [], { spec: { initContainers: [{ name: "init", ports: [http], restartPolicy }] } });
    expect(isRefused(pod("b", [http]), withInit("Always"))).toBe(true);
    expect(isRefused(pod("b", [http]), withInit())).toBe(false);
  });
});

test("ports are free if there are no other pods, or if none is requested", () => {
  expect(isRefused(pod("b", [http]))).toBe(false);
  expect(isRefused(pod("b", []), pod("a", [http]))).toBe(false);
  expect(isRefused(pod("b", [{ containerPort: 80 }]), pod("a", [http]))).toBe(false);
  expect(isRefused(pod("b", [{ containerPort: 80, hostPort: 0 }]), pod("a", [{ containerPort: 80, hostPort: 0 }]))).toBe(false);
});

test("a single conflict is enough, with several ports, containers and pods", () => {
  const other = { containerPort: 81, hostPort: 8081 };
  expect(isRefused(pod("b", [other, http]), pod("a", [{ containerPort: 1, hostPort: 1 }]), pod("c", [other]))).toBe(true);
  expect(isRefused(pod("b", [other]), pod("a", [http]), pod("c", [http, other]))).toBe(true);
  const two = { ...pod("a", []), spec: { containers: [{ name: "x" }, { name: "y", ports: [http] }] } };
  expect(isRefused(pod("b", [http]), two)).toBe(true);
});

test("an empty protocol or address means the default", () => {
  expect(isRefused(pod("b", [{ ...http, protocol: "", hostIP: "" }]), pod("a", [{ ...http, protocol: "TCP", hostIP: "0.0.0.0" }]))).toBe(
    true,
  );
  expect(isRefused(pod("b", [{ ...http, hostIP: "0.0.0.0" }]), pod("a", [{ ...http, hostIP: "10.0.0.1" }]))).toBe(true);
});

test("on the node's network the explicit host port counts, not the container port", () => {
  const onHost = pod("a", [{ containerPort: 80, hostPort: 8080 }], { spec: { hostNetwork: true } });

  expect(isRefused(pod("b", [http]), onHost)).toBe(true);
  expect(isRefused(pod("b", [{ containerPort: 1, hostPort: 80 }]), onHost)).toBe(false);
});

test("a failed pod holds no ports", () => {
  expect(isRefused(pod("b", [http]), pod("a", [http], { phase: "Failed" }))).toBe(false);
});
