import { NodeHeldError } from "@virtual-kubelet/core";
import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { eventually, RecordingProvider, startFaultProxy } from "@virtual-kubelet/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Program } from "../support/program.ts";
import { createNamespace, openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { forgetNode, nodeToBe, startNode, uniqueName, type TestNode, type TestNodeOptions } from "./support/test-node.ts";
import { podOn, Pods } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
let client: KubeClient;
let namespace = "";
let pods: Pods;
let started: TestNode[] = [];

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  namespace = await createNamespace(client, "instances");
  pods = new Pods(client, namespace);
});

afterEach(async () => {
  for (const node of started) {
    await node.stop();
    await forgetNode(controlPlane, node.name);
    expect(node.recording.violations).toEqual([]);
  }
  started = [];
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

test("a second instance of a live node refuses to start, and names the first", async () => {
  const first = await start("a");
  const second = await start("b", { name: first.name, wait: false });

  const refusal = await second.running.catch((error: unknown) => error);

  expect(refusal).toBeInstanceOf(NodeHeldError);
  expect(refusal).toMatchObject({ nodeName: first.name, holder: "a" });
  await expect(second.node.ready).rejects.toBe(refusal);
  expect(second.recording.calls.filter(({ method }) => method !== "configureNode" && method !== "ping")).toEqual([]);
  await nodeToBe(client, first.name, "True");
});

test("the same instance takes over at once after a restart, and restarts no pod", async () => {
  const recording = new RecordingProvider();
  const options = { recording, node: { leaseDurationSeconds: 60, instance: { identity: "a" } } };
  const first = await start("a", options);
  const pod = await pods.create(podOn(first.name, "taken", namespace));
  await pods.running("taken");
  await first.stop();
  const stoppedMs = Date.now();

  const second = await start("a", { ...options, name: first.name });

  // Another instance would have to wait for at least three quarters of the lease's duration.
  expect(Date.now() - stoppedMs).toBeLessThan(40_000);
  await nodeToBe(client, first.name, "True");
  await pods.running("taken");
  expect(recording.creates(pod.uid)).toBe(1);
  await pods.delete("taken");
  await pods.gone("taken");
  expect(second.recording.deletes(pod.uid)).toBe(1);
});

test("another instance takes over a node after its lease has expired", async () => {
  const recording = new RecordingProvider();
  const first = await start("a", { recording });
  const pod = await pods.create(podOn(first.name, "left", namespace));
  await pods.running("left");
  await first.stop();
  const { spec } = await client.get(resources.leases, { namespace: "kube-node-lease", name: first.name }, { signal });
  const renewedMs = Date.parse(spec?.renewTime ?? "");

  await start("b", { name: first.name, recording });

  expect(Date.now() - renewedMs).toBeGreaterThanOrEqual(12_000);
  await pods.running("left");
  expect(recording.creates(pod.uid)).toBe(1);
});

test("a standby instance waits while the first is alive, and takes over when it is gone", async () => {
  const recording = new RecordingProvider();
  const first = await start("a", { recording });
  const standby = await start("b", { name: first.name, recording, wait: false, node: { instance: { identity: "b", standby: true } } });
  const pod = await pods.create(podOn(first.name, "watched", namespace));
  await pods.running("watched");

  await new Promise((resolve) => setTimeout(resolve, 6_000));
  expect(standby.node.health.ready).toBe(false);
  await first.stop();
  await eventually(() => expect(standby.node.health.ready).toBe(true), { timeoutMs: 90_000, describe: "the standby to take over" });

  const next = await pods.create(podOn(first.name, "after", namespace));
  await pods.running("after");
  expect([pod, next].map(({ uid }) => recording.creates(uid))).toEqual([1, 1]);
});

test("of two copies with the same identity the older one ends", async () => {
  const recording = new RecordingProvider();
  const older = await start("same", { recording });

  const newer = await start("same", { name: older.name, recording });

  const end = await older.running.catch((error: unknown) => error);
  expect(end).toBeInstanceOf(NodeHeldError);
  expect(String(end)).toContain('another copy of "same"');
  const pod = await pods.create(podOn(newer.name, "one", namespace));
  await pods.running("one");
  expect(recording.callsOf("createPod", pod.uid)).toHaveLength(1);
});

test("an instance that was replaced while it was cut off ends when it reconnects", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  const recording = new RecordingProvider();
  const cut = await start("a", { recording, kubeconfig: proxy.kubeconfig });
  proxy.inject({}, { kind: "reset" });
  proxy.disrupt({}, { kind: "truncate", afterBytes: 0, cutOff: "reset" });

  const successor = await start("b", { name: cut.name, recording });
  proxy.clear();

  const end = await cut.running.catch((error: unknown) => error);
  expect(end).toBeInstanceOf(NodeHeldError);
  const pod = await pods.create(podOn(successor.name, "successors", namespace));
  await pods.running("successors");
  expect(recording.callsOf("createPod", pod.uid)).toHaveLength(1);
});

test("the program ends with code 78 and one line that names the holder", async () => {
  const name = uniqueName("held");
  await start("a", { name });

  const words = ["--provider", "mock", "--nodename", name, "--identity", "b", "--kubeconfig", controlPlane.kubeconfig.path];
  await using program = new Program([...words, "--health-addr", "off"], { cwd: controlPlane.directory });

  expect(await program.exit).toBe(78);
  expect(program.stderr).toContain('held by instance \\"a\\"');
});

async function start(identity: string, options: Partial<TestNodeOptions> = {}): Promise<TestNode> {
  const node = await startNode({ kubeconfig: controlPlane.kubeconfig, ...options, node: { instance: { identity }, ...options.node } });
  started.push(node);
  return node;
}
