import { systemClock, systemRandom, VirtualClock } from "@virtual-kubelet/clock";
import { isNotFound, isQuotaExceeded, isUnavailable } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import type { Pod, PodRef, PodUpdate, Provider, ProviderHost, ResolvedPod } from "@virtual-kubelet/core";
import type { Server } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { provider as definition } from "./file-provider.ts";
import { openFileBackend, type FileBackendHandle } from "./file-backend-handle.ts";
import { serveFileBackend } from "./file-backend-server.ts";
import { startFileBackend } from "./start-file-backend.ts";

const { signal } = new AbortController();
let backend: FileBackendHandle;
let server: Server;
let opened: Provider[] = [];

beforeEach(async () => {
  backend = openFileBackend(await mkdtemp(join(tmpdir(), "vk-file-")));
  server = await serveFileBackend(backend.directory, { clock: systemClock, random: systemRandom });
});

afterEach(async () => {
  for (const provider of opened) await provider[Symbol.asyncDispose]?.();
  opened = [];
  server.closeAllConnections();
  server.close();
  await rm(backend.directory, { recursive: true });
});

test("a pod is created once, tagged with its owner and UID, and reported as running", async () => {
  const provider = await open();

  await provider.createPod(pod("u1"), unresolved, signal);

  const { pods, complete } = await provider.getPods(signal);
  expect(complete).toBe(true);
  expect(pods).toMatchObject([{ ref: ref("u1"), owner: { clusterId: "cluster", nodeName: "node" }, status: { phase: "Running" } }]);
  expect(backend.instances()).toMatchObject([{ ref: ref("u1"), owner: { clusterId: "cluster", nodeName: "node" } }]);
});

test("creating a pod again adopts the existing instance, also from a provider in another process", async () => {
  await (await open()).createPod(pod("u1"), unresolved, signal);

  const restarted = await open();
  await restarted.createPod(pod("u1"), unresolved, signal);

  expect(backend.creates("u1")).toBe(1);
  expect(backend.instances()).toHaveLength(1);
});

test("a deleted pod is reported as ended and then as gone, and the journal records every step", async () => {
  const provider = await open();
  const updates = listen(provider);
  await provider.createPod(pod("u1"), unresolved, signal);
  await provider.deletePod(ref("u1"), { gracePeriodSeconds: 30 }, signal);

  await eventually(() => expect(updates.at(-1)).toEqual({ ref: ref("u1"), gone: true }));
  expect(updates.map((update) => ("gone" in update ? "gone" : update.status.phase))).toEqual(["Running", "Running", "Succeeded", "gone"]);
  expect(backend.journal().map(({ event, uid }) => [event, uid])).toEqual([
    ["create", "u1"],
    ["delete", "u1"],
    ["ended", "u1"],
    ["removed", "u1"],
  ]);
  await expect(provider.deletePod(ref("u1"), { gracePeriodSeconds: 0 }, signal)).rejects.toSatisfy(isNotFound);
  await expect(provider.getPodStatus(ref("u1"), signal)).rejects.toSatisfy(isNotFound);
});

test("another node's pods on the same back end are neither listed nor reported", async () => {
  const provider = await open();
  const updates = listen(provider);
  await (await open({ nodeName: "other" })).createPod(pod("u1"), unresolved, signal);
  await provider.createPod(pod("u2"), unresolved, signal);

  expect((await provider.getPods(signal)).pods.map((each) => each.ref.uid)).toEqual(["u2"]);
  await eventually(() => expect(updates).toHaveLength(1));
  expect(updates[0]?.ref.uid).toBe("u2");
});

test("instances outlive the back end's process, and a provider learns what changed in the meantime", async () => {
  await using backend = await startFileBackend();
  const provider = await open({ directory: backend.directory });
  const updates = listen(provider);
  await provider.createPod(pod("u1"), unresolved, signal);
  await provider.createPod(pod("u2"), unresolved, signal);
  await eventually(() => expect(updates).toHaveLength(2));
  const [first] = backend.instances();

  await backend.process.kill();
  await expect(provider.ping?.(signal)).rejects.toSatisfy(isUnavailable);
  await using second = await startFileBackend({ directory: backend.directory });
  await second.losePod("u2");

  expect(second.instances()).toEqual([first]);
  await eventually(() => expect(updates).toContainEqual({ ref: ref("u2"), gone: true }));
});

test("a polled provider does not notify", async () => {
  const provider = await open({ mode: "poll" });

  expect(provider.notifyPods).toBeUndefined();
});

test("a slow create is answered late, but its instance exists at once", async () => {
  const slow = openFileBackend(join(backend.directory, "slow"));
  const clock = new VirtualClock();
  const slowServer = await serveFileBackend(slow.directory, { clock, random: systemRandom });
  using _server = { [Symbol.dispose]: () => void slowServer.close() };
  slow.control({ createDelayMs: 400, startDelayMs: 60_000 });
  const provider = await open({ directory: slow.directory });
  let answered = false;

  const creating = provider.createPod(pod("u1"), unresolved, signal).then(() => (answered = true));
  await eventually(() => expect(slow.instances()).toHaveLength(1));

  expect((await provider.getPodStatus(ref("u1"), signal)).phase).toBe("Pending");
  expect(answered).toBe(false);
  await clock.advance(400);
  await creating;
});

test("the control file makes operations fail, hang, or return incomplete lists", async () => {
  const provider = await open();
  await provider.createPod(pod("u1"), unresolved, signal);
  await provider.createPod(pod("u2"), unresolved, signal);

  backend.control({ failures: { create: { code: "VK_QUOTA_EXCEEDED", message: "no room" } }, listIncomplete: true, hang: ["ping"] });

  await expect(provider.createPod(pod("u3"), unresolved, signal)).rejects.toSatisfy(isQuotaExceeded);
  await expect(provider.createPod(pod("u3"), unresolved, signal)).rejects.toThrow("no room");
  expect(await provider.getPods(signal)).toMatchObject({ pods: [{ ref: ref("u1") }], complete: false });
  const controller = new AbortController();
  const pinging = provider.ping?.(controller.signal);
  controller.abort(new Error("pinged long enough"));
  await expect(pinging).rejects.toThrow("pinged long enough");
});

test("a pod's address and end can be changed from outside", async () => {
  const provider = await open();
  await provider.createPod(pod("u1"), unresolved, signal);

  await backend.setPodIP("u1", "10.9.9.9");
  expect(await provider.getPodStatus(ref("u1"), signal)).toMatchObject({ phase: "Running", podIP: "10.9.9.9" });
  await backend.exitPod("u1", 7);
  expect(await provider.getPodStatus(ref("u1"), signal)).toMatchObject({ phase: "Failed" });
});

test("an invalid configuration is refused", () => {
  expect(definition.configSchema.safeParse({ directory: "/x" })).toEqual({ success: true, data: { directory: "/x", mode: "notify" } });
  expect(definition.configSchema.safeParse({ directory: "/x", mod: "poll" }).success).toBe(false);
});

const unresolved: ResolvedPod = {
  environment: () => Promise.resolve([]),
  commandLine: () => Promise.resolve({ command: [], args: [] }),
  volume: () => Promise.resolve({ files: [] }),
  async *watchVolume() {},
  configMap: async () => ({}),
  secret: async () => ({}),
  serviceVariables: async () => [],
};

async function open(
  options: { readonly mode?: "notify" | "poll"; readonly nodeName?: string; readonly directory?: string } = {},
): Promise<Provider> {
  const host: ProviderHost = {
    nodeName: options.nodeName ?? "node",
    clusterId: "cluster",
    nodeAddress: undefined,
    clusterDomain: "cluster.local",
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: systemRandom,
    getSecret: () => Promise.reject(new Error("not used")),
    getConfigMap: () => Promise.reject(new Error("not used")),
    getServiceAccountToken: () => Promise.reject(new Error("not used")),
    resolvePod: () => unresolved,
    findPod: () => undefined,
    recordEvent: () => {},
  };
  const provider = await definition.create(host, { directory: options.directory ?? backend.directory, mode: options.mode ?? "notify" });
  opened.push(provider);
  return provider;
}

function listen(provider: Provider): PodUpdate[] {
  const updates: PodUpdate[] = [];
  provider.notifyPods?.((update) => updates.push(update));
  return updates;
}

function ref(uid: string): PodRef {
  return { namespace: "default", name: `pod-${uid}`, uid };
}

function pod(uid: string): Pod {
  return { metadata: ref(uid), spec: { containers: [{ name: "main", image: "web:1" }] } };
}
