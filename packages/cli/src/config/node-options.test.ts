import { VirtualClock } from "@virtual-kubelet/clock";
import type { NodeOptions, ProviderDefinition } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { parseFlags } from "../command-line/flag-parser.ts";
import { testContext } from "../test-support/test-context.ts";
import { loadSettings } from "./load-settings.ts";
import { toNodeOptions } from "./node-options.ts";
import type { NodeSettings } from "./settings.ts";

const provider = { name: "mock" } as ProviderDefinition;

async function optionsOf(nodes: readonly Partial<NodeSettings>[], words: readonly string[] = []): Promise<NodeOptions[]> {
  const { settings } = await loadSettings(parseFlags("run", ["--provider", "mock", ...words]), testContext(new VirtualClock()));
  const [first] = settings.nodes;
  if (!first) throw new Error("no node");
  const all = { ...settings, nodes: nodes.map((node) => ({ ...first, ...node })) };
  return all.nodes.map((node) => toNodeOptions(node, all, { provider, hostName: "host-1", defaultAddress: "192.0.2.1" }));
}

test("a node with a server declares WebSockets, and has the default address", async () => {
  const [node] = await optionsOf([{ name: "a" }]);

  expect(node).toMatchObject({ kubeletPort: 10250, declaredFeatures: ["ExtendWebSocketsToKubelet"], defaultAddress: "192.0.2.1" });
  expect(node?.annotations).toEqual({});
});

test("a node without a server declares nothing, and needs no address", async () => {
  const [node] = await optionsOf([{ name: "a", kubeletPort: 0 }]);

  expect(node).toMatchObject({ kubeletPort: 0, declaredFeatures: [], defaultAddress: undefined });
});

test("a node has an address of each family where two are given, the first one as its main one", async () => {
  const [main, dual] = await optionsOf([
    { name: "a", address: "192.0.2.7" },
    { name: "b", address: "2001:db8::7,192.0.2.7" },
  ]);

  expect(main).toMatchObject({ address: "192.0.2.7", secondaryAddress: undefined });
  expect(dual).toMatchObject({ address: "2001:db8::7", secondaryAddress: "192.0.2.7" });
});

test.each(["192.0.2.7,192.0.2.8", "192.0.2.7,", "192.0.2.7,2001:db8::7,2001:db8::8", "host"])("--node-ip=%s is refused", async (value) => {
  await expect(optionsOf([{ name: "a" }], [`--node-ip=${value}`])).rejects.toThrow(
    "expected an IP address, or an IPv4 and an IPv6 address",
  );
});

test("nodes that share a port say where the metrics of each are; a node's own word goes over it", async () => {
  const path = "metrics.k8s.io/resource-metrics-path";
  const nodes = await optionsOf([
    { name: "a" },
    { name: "b", annotations: { [path]: "/own" } },
    { name: "c", kubeletPort: 10251 },
    { name: "d", kubeletPort: 0 },
    { name: "e", kubeletPort: 0 },
  ]);

  expect(nodes.map(({ annotations }) => annotations?.[path])).toEqual([
    "/nodes/a/metrics/resource",
    "/own",
    undefined,
    undefined,
    undefined,
  ]);
});
