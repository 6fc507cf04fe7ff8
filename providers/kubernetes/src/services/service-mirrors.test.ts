import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { noMetrics, resources } from "@virtual-kubelet/kube-client";
import { systemRandom } from "@virtual-kubelet/clock";
import type { ProviderHost } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { kubernetesConfigSchema, type KubernetesConfig } from "../config.ts";
import { namespaceMap } from "../identity/namespaces.ts";
import { recordingLogger, startMirrorRig, type MirrorRig } from "../test-support/mirror-rig.ts";
import type { HomeConnection } from "./home-connection.ts";
import { checkServicesConfig, ServiceMirrors, type MirroringNode } from "./service-mirrors.ts";

describe("configuration", () => {
  test.for([
    [{ services: { namespaces: ["a"] }, network: { podIPs: "none" } }, /services\.direction is both, but with network\.podIPs none/],
    [{ services: { namespaces: ["a"], direction: "toHome" }, network: { podIPs: "none" } }, /set services\.direction to toFar/],
  ] as const)("%j is refused", ([config, message]) => {
    expect(() => checkServicesConfig(parse(config))).toThrow(message);
  });

  test.for([
    { services: { namespaces: ["a"], direction: "toFar" }, network: { podIPs: "none" } },
    { services: { namespaces: [] }, network: { podIPs: "none" } },
    { services: { namespaces: ["a"] } },
  ])("%j is accepted", (config) => {
    expect(checkServicesConfig(parse(config))).toBeUndefined();
  });
});

describe("mirrors of a process", () => {
  test("nodes with the same clusters and configuration share one, which ends with the last of them", async () => {
    await using rig = await startMirrorRig();
    const world = await openWorld(rig, ["far-1", "far-2"]);
    await rig.home.createService("a", "web");
    const first = world.mirrors.start(world.node("far-1"));
    const second = world.mirrors.start(world.node("far-2"));
    await rig.settle();
    expect(world.opened).toBe(1);
    await first[Symbol.asyncDispose]();
    await rig.home.createService("a", "api");
    await rig.settle();
    expect(await rig.far.service("a", "api")).toMatchObject({ metadata: { labels: { "virtual-kubelet.io/mirror": "far-2" } } });
    await second[Symbol.asyncDispose]();
    expect(world.closed).toBe(1);
    await rig.home.createService("a", "late");
    await rig.settle();
    expect([await rig.far.service("a", "late"), await rig.far.service("a", "web")]).toMatchObject([undefined, {}]);
  });

  test("a kubeconfig of a cluster that does not have the node is refused, and the node says so", async () => {
    await using rig = await startMirrorRig();
    const world = await openWorld(rig, []);
    await rig.home.createService("a", "web");
    await using _handle = world.mirrors.start(world.node("far-1"));
    await rig.settle();
    expect(await rig.far.service("a", "web")).toBeUndefined();
    expect(world.events).toEqual([
      "services.home: the cluster https://home has no node far-1, so it is not the home cluster; name the home cluster's kubeconfig in services.home.kubeconfig",
    ]);
  });

  test("credentials that are missing at first are tried again", async () => {
    await using rig = await startMirrorRig();
    const world = await openWorld(rig, ["far-1"], { failures: 2 });
    await rig.home.createService("a", "web");
    await using _handle = world.mirrors.start(world.node("far-1"));
    await rig.settle();
    expect(await rig.far.service("a", "web")).toBeDefined();
  });

  test("where no Services are mirrored, a far cluster that does not answer is a warning about former copies only", async () => {
    await using rig = await startMirrorRig();
    const world = await openWorld(rig, ["far-1"]);
    using _ = rig.far.server.faults.inject({}, { kind: "status", status: 401 });
    await using _handle = world.mirrors.start(world.node("far-1", { services: { namespaces: [] } }));
    await rig.settle();
    expect(rig.warnings.join()).toMatch(/copies of Services that are not mirrored any more cannot be looked for.*"delayMs":\d+\}/);
    expect(rig.warnings.join()).not.toContain("services cannot be mirrored");
  });

  test("an option that was switched off leaves nothing", async () => {
    await using rig = await startMirrorRig();
    const world = await openWorld(rig, ["far-1"]);
    await rig.home.createService("a", "web");
    await world.during(world.node("far-1"), rig);
    expect(await rig.far.service("a", "web")).toBeDefined();
    await world.during(world.node("far-1", { services: { namespaces: [] } }), rig);
    expect(await rig.far.service("a", "web")).toBeUndefined();
  });
});

function parse(config: object): KubernetesConfig {
  return kubernetesConfigSchema.parse(config);
}

async function openWorld(rig: MirrorRig, nodeNames: readonly string[], { failures = 0 }: { readonly failures?: number } = {}) {
  for (const name of nodeNames)
    await rig.home.client.create(
      resources.nodes,
      { apiVersion: "v1", kind: "Node", metadata: { name } },
      { signal: AbortSignal.timeout(5_000) },
    );
  const world = {
    opened: 0,
    closed: 0,
    events: [] as string[],
    mirrors: new ServiceMirrors((): Promise<HomeConnection> => {
      if (failures-- > 0) return Promise.reject(new InvalidInputError("there are no credentials"));
      world.opened++;
      return Promise.resolve({
        client: rig.home.client,
        server: "https://home",
        [Symbol.asyncDispose]: () => Promise.resolve(void world.closed++),
      });
    }),
    node(nodeName: string, config: object = {}): MirroringNode {
      const host = {
        nodeName,
        clusterId: "home-1",
        clock: rig.clock,
        random: systemRandom,
        metrics: noMetrics,
        logger: recordingLogger(rig.warnings),
        recordNodeEvent: ({ message }) => void world.events.push(message),
      } satisfies Partial<ProviderHost>;
      const parsed = parse({ namespaces: { mode: "same" }, services: { namespaces: ["a"] }, ...config });
      return { host, config: parsed, namespaces: namespaceMap(parsed.namespaces, undefined), far: rig.farCluster };
    },
    async during(node: MirroringNode, { settle }: MirrorRig): Promise<void> {
      await using _handle = world.mirrors.start(node);
      await settle();
    },
  };
  return world;
}
