import { expect, test } from "vitest";
import type { NodeOptions } from "../virtual-node/options.ts";
import { resolveNodeOptions, type ResolvedNodeOptions } from "./node-defaults.ts";

function resolve(options: Partial<NodeOptions> = {}, hostAddresses: readonly string[] = ["192.0.2.7", "2001:db8::7"]): ResolvedNodeOptions {
  return resolveNodeOptions({ name: "vk", instance: { identity: "one" }, ...options }, { providerName: "mock", hostAddresses });
}

test("a node has the provider's taint, which keeps pods without a toleration away", () => {
  expect(resolve().taints).toEqual([{ key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" }]);
});

test("an empty list of taints opens the node to every pod", () => {
  expect(resolve({ taints: [] }).taints).toEqual([]);
});

test("given taints replace the provider's", () => {
  const taint = { key: "example.com/own", effect: "NoExecute" };
  expect(resolve({ taints: [taint] }).taints).toEqual([taint]);
});

test("a node without a server announces neither a port nor an address nor features", () => {
  expect(resolve()).toMatchObject({ kubeletPort: 0, defaultAddress: undefined, declaredFeatures: [] });
});

test("a node with a server announces the machine's first address and WebSockets to the kubelet", () => {
  expect(resolve({ kubeletPort: 10250 })).toMatchObject({
    kubeletPort: 10250,
    defaultAddress: "192.0.2.7",
    declaredFeatures: ["ExtendWebSocketsToKubelet"],
  });
});

test("an address and features that are given stay", () => {
  const given = { kubeletPort: 10250, defaultAddress: "198.51.100.1", declaredFeatures: [] };
  expect(resolve(given)).toMatchObject(given);
});

test("on a machine without a reachable address, the node has none", () => {
  expect(resolve({ kubeletPort: 10250 }, []).defaultAddress).toBeUndefined();
});
