import { instanceAnnotation } from "@virtual-kubelet/core";
import { resources, type Lease, type Pod } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Program } from "../support/program.ts";
import { ProgramRig } from "./support/program-rig.ts";

const { signal } = new AbortController();
const soon = { timeoutMs: 90_000, intervalMs: 500 };
const nodeCount = 12;
const nodeNames = Array.from({ length: nodeCount }, (_, number) => `sim-${number}`);

const config = {
  apiVersion: "virtual-kubelet.io/v1alpha1",
  kind: "VirtualKubelet",
  instance: { group: "shared" },
  nodes: [{ name: "sim", count: nodeCount, provider: "mock", kubeletPort: 0, leaseDuration: "8s", taint: { disable: true } }],
};

/** One state of a node's Lease. */
interface Held {
  readonly node: string;
  readonly holder: string | undefined;
  readonly renewedMs: number;
  readonly durationMs: number;
}

/** Watches the Leases of the nodes until disposed, and keeps every state. */
class LeaseRecord implements AsyncDisposable {
  readonly states: Held[] = [];
  readonly #end = new AbortController();
  readonly #running: Promise<void>;

  constructor(rig: ProgramRig) {
    this.#running = this.#watch(rig).catch(() => {});
  }

  /** Takeovers from a holder whose Lease had not expired, by the times that both wrote. All programs have one clock here. */
  get stolen(): string[] {
    const last = new Map<string, Held>();
    return this.states.flatMap((state) => {
      const before = last.get(state.node);
      last.set(state.node, state);
      const isStolen = before && before.holder !== state.holder && state.renewedMs - before.renewedMs < before.durationMs;
      return isStolen ? [`${state.node}: ${before.holder} > ${state.holder}`] : [];
    });
  }

  async #watch({ client }: ProgramRig): Promise<void> {
    const events = await client.watch(resources.leases, { namespace: "kube-node-lease" }, { signal: this.#end.signal });
    for await (const { type, object } of events)
      if ((type === "ADDED" || type === "MODIFIED") && nodeNames.includes(object.metadata?.name ?? "")) this.#note(object);
  }

  #note({ metadata, spec }: Lease): void {
    this.states.push({
      node: metadata?.name ?? "",
      holder: metadata?.annotations?.[instanceAnnotation],
      renewedMs: Date.parse(spec?.renewTime ?? ""),
      durationMs: (spec?.leaseDurationSeconds ?? 0) * 1000,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#running;
  }
}

async function run(rig: ProgramRig, identity: string): Promise<Program> {
  await writeFile(join(rig.folder, "shared.json"), JSON.stringify(config));
  return rig.run(`--config shared.json --identity ${identity}`);
}

/** Waits until these instances alone hold all nodes, each of them at least one. */
async function heldBy(rig: ProgramRig, ...identities: string[]): Promise<void> {
  await eventually(async () => {
    const { items } = await rig.client.list(resources.leases, { namespace: "kube-node-lease" }, { signal });
    const held = items.filter(({ metadata }) => nodeNames.includes(metadata?.name ?? ""));
    const holders = new Set(held.map(({ metadata }) => metadata?.annotations?.[instanceAnnotation]));
    expect([held.length, [...holders].toSorted()]).toEqual([nodeCount, identities]);
    for (const { spec } of held) expect(Date.now() - Date.parse(spec?.renewTime ?? "")).toBeLessThan(8_000);
  }, soon);
}

/** What would differ if a pod had run twice or restarted. */
function identityOf({ metadata, status }: Pod): unknown {
  const containers = status?.containerStatuses?.map(({ containerID, restartCount, state, ready }) => [
    containerID,
    restartCount,
    state,
    ready,
  ]);
  return [metadata?.uid, metadata?.name, status?.phase, status?.startTime, status?.podIP, containers];
}

test("three instances share nodes; one that is killed is replaced by the others, and one that joins gets its share, without a restart of a pod", async () => {
  await using rig = await ProgramRig.open();
  await using record = new LeaseRecord(rig);
  await using first = await run(rig, "a");
  await using second = await run(rig, "b");
  await using third = await run(rig, "c");
  await heldBy(rig, "a", "b", "c");
  for (const name of nodeNames) await rig.createPod(`on-${name}`, name);
  for (const name of nodeNames) await rig.podIsRunning(`on-${name}`);
  const list = async (): Promise<unknown[]> =>
    (await rig.client.list(resources.pods, { namespace: "default" }, { signal })).items.map(identityOf);
  const before = await list();

  expect(await third.end("SIGKILL")).toBe("SIGKILL");
  await heldBy(rig, "a", "b");
  for (const name of nodeNames) await rig.nodeIsReady(name);

  await using fourth = await run(rig, "d");
  await heldBy(rig, "a", "b", "d");

  expect(await second.end("SIGTERM")).toBe(0);
  await heldBy(rig, "a", "d");
  for (const name of nodeNames) await rig.nodeIsReady(name);
  expect(await list()).toEqual(before);
  expect(record.stolen).toEqual([]);
  expect(await fourth.end("SIGTERM")).toBe(0);
  expect(await first.end("SIGTERM")).toBe(0);
});

test("a program that is paused for longer than its leases comes back, and takes its share of the nodes again", async () => {
  await using rig = await ProgramRig.open();
  await using record = new LeaseRecord(rig);
  await using _first = await run(rig, "a");
  await using second = await run(rig, "b");
  await heldBy(rig, "a", "b");

  second.kill("SIGSTOP");
  await heldBy(rig, "a");
  second.kill("SIGCONT");
  await heldBy(rig, "a", "b");

  expect(await second.end("SIGTERM")).toBe(0);
  expect(record.stolen).toEqual([]);
});

test("a second program with the identity of a member ends with 78, and says so", async () => {
  await using rig = await ProgramRig.open();
  await using _first = await run(rig, "a");
  await heldBy(rig, "a");
  await using second = rig.run("--config shared.json --identity a", { env: { STATE_DIRECTORY: join(rig.folder, "other") } });

  expect(await second.exit).toBe(78);
  expect(second.stderr).toContain("another program with this identity is a member");
  await using third = rig.run("--config shared.json --identity a");
  expect(await third.exit).toBe(78);
  expect(third.stderr).toContain("on this host is it already: stop that one, or give this one another --identity");
});
