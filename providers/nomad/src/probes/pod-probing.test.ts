import { VirtualClock } from "@virtual-kubelet/clock";
import type { Container, Pod, PodEvent } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { BackgroundWork } from "@virtual-kubelet/remote-pods";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { NomadClient } from "../api/nomad-client.ts";
import type { Allocation } from "../api/types.ts";
import { newPodEntry, type PodEntry } from "../pods/pod-entry.ts";
import { containerWith, planOf, podWith } from "../test-support/pods.ts";
import { PodProbing } from "./pod-probing.ts";

let clock: VirtualClock;
let background: BackgroundWork;
let probing: PodProbing;
let pod: Pod | undefined;
let events: PodEvent[];
let restarted: string[];
let changes: number;
/** Whether Nomad reaches the client. */
let isReachable: boolean;
let server: Server;
let isHealthy: boolean;
let port: number;
/** Takes the place of Nomad for commands of probes: it accepts connections, and never answers. */
let deaf: WebSocketServer;
/** How many connections were opened for commands. */
let commands: number;
let startedAt: string;

beforeEach(async () => {
  [clock, events, restarted, changes, commands, isReachable, isHealthy] = [new VirtualClock(), [], [], 0, 0, true, true];
  startedAt = new Date(clock.now()).toISOString();
  server = createServer((_, response) => {
    response.statusCode = isHealthy ? 200 : 503;
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
  deaf = new WebSocketServer({ server });
  background = new BackgroundWork({ clock, logger: silentLogger, backEnd: "Nomad" });
  const client = {
    stats: async () => {
      if (!isReachable) throw new UnavailableError("no path to node");
      return {};
    },
    readAllocation: async () => allocationWith(),
    restartTask: async (_: string, task: string) => void restarted.push(task),
    execProbe: async () => {
      commands++;
      return new WebSocket(`ws://127.0.0.1:${port}`);
    },
  } as unknown as NomadClient;
  probing = new PodProbing({
    clientOf: () => client,
    clock,
    random: { uuid: () => "mark" },
    logger: silentLogger,
    background,
    maxCommands: 1,
    findPod: () => pod,
    recordEvent: (_, event) => void events.push(event),
    addressOf: () => "127.0.0.1",
    onChange: () => void changes++,
  });
});
afterEach(async () => {
  probing[Symbol.dispose]();
  await background[Symbol.asyncDispose]();
  for (const client of deaf.clients) client.terminate();
  server.close();
  server.closeAllConnections();
  expect(clock.pending).toBe(0);
});

function allocationWith(fields: Partial<Allocation> = {}): Allocation {
  return {
    ID: "a-1",
    JobID: "vk-1",
    Namespace: "default",
    NodeID: "n-1",
    CreateIndex: 1,
    ModifyIndex: 2,
    CreateTime: 0,
    ClientStatus: "running",
    DesiredStatus: "run",
    TaskStates: { main: { State: "running", Failed: false, Restarts: 0, StartedAt: startedAt } },
    ...fields,
  };
}

function entryOf(container: Partial<Container>, status?: Pod["status"]): PodEntry {
  pod = { ...podWith({ containers: [containerWith(container)] }), ...(status && { status }) };
  const entry = newPodEntry("vk-1", planOf(pod, { network: "host" }).shape);
  entry.allocation = allocationWith();
  return entry;
}

/** Waits for an answer of the server, which takes real time. */
async function settled(check: () => void): Promise<void> {
  await vi.waitFor(async () => {
    await clock.advance(0);
    check();
  });
}

const isReady = (entry: PodEntry): unknown => probing.standingsOf(entry).get("main")?.isReady;

test("a container is ready when its probe at the client's address has passed", async () => {
  const entry = entryOf({ readinessProbe: { httpGet: { port } } });

  expect(probing.watch(entry)).toBe(true);
  expect(isReady(entry)).toBe(false);
  await settled(() => expect(isReady(entry)).toBe(true));

  expect([changes, probing.watch(entry)]).toEqual([1, false]);
});

test("while Nomad does not reach the client, a failed probe counts for nothing", async () => {
  const liveness = { httpGet: { port }, failureThreshold: 1 };
  const entry = entryOf({ livenessProbe: liveness });
  [isHealthy, isReachable] = [false, false];

  probing.watch(entry);
  await vi.waitFor(() => clock.advance(1_000));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await clock.advance(30_000);
  expect([restarted, events]).toEqual([[], []]);
  isReachable = true;
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(restarted).toEqual(["main"]);
  });

  expect(events.map(({ reason }) => reason)).toEqual(["Unhealthy", "Killing"]);
});

test("a command whose time is over keeps its place among those of probes until its connection is closed, and has failed in time", async () => {
  const entry = entryOf({ readinessProbe: { exec: { command: ["true"] }, timeoutSeconds: 1, periodSeconds: 1, failureThreshold: 1 } });
  probing.watch(entry);
  await settled(() => expect(deaf.clients.size).toBe(1));
  await clock.advance(1_000);
  await settled(() => expect(events).toMatchObject([{ reason: "Unhealthy", message: "Readiness probe failed: no answer within 1000 ms" }]));

  await clock.advance(5_000);
  expect([commands, deaf.clients.size]).toEqual([1, 1]);
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(commands).toBe(2);
  });
  expect(deaf.clients.size).toBeLessThanOrEqual(1);

  probing.stop(entry.shape.ref.uid);
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect([clock.pending, deaf.clients.size]).toEqual([0, 0]);
  });
});

test("a client that Nomad has lost touch with is not asked, and what was ready is so when it is back", async () => {
  const entry = entryOf({ readinessProbe: { httpGet: { port }, failureThreshold: 1 } });
  probing.watch(entry);
  await settled(() => expect(isReady(entry)).toBe(true));
  entry.allocation = { ...(entry.allocation as Allocation), ClientStatus: "unknown" };
  isHealthy = false;

  probing.watch(entry);
  await clock.advance(60_000);

  expect([isReady(entry), events]).toEqual([true, []]);
});

test("a pod that is not known yet is probed once it is, from what its status says", async () => {
  const status = { name: "main", image: "", imageID: "", restartCount: 0, ready: true, started: true, state: { running: { startedAt } } };
  const entry = entryOf(
    { readinessProbe: { httpGet: { port } } },
    { containerStatuses: [{ ...status, containerID: "nomad://a-1/main/0" }] },
  );
  const known = pod;
  pod = undefined;
  expect([probing.watch(entry), isReady(entry)]).toEqual([false, undefined]);
  pod = known;

  expect([probing.watch(entry), isReady(entry)]).toEqual([true, true]);
});

test("a pod without probes is not looked after, and one that has ended is not probed", async () => {
  const plain = entryOf({});
  expect(probing.watch(plain)).toBe(false);
  const entry = entryOf({ livenessProbe: { httpGet: { port } } });
  probing.watch(entry);
  entry.allocation = allocationWith({ ClientStatus: "complete" });

  probing.watch(entry);
  await clock.advance(0);

  expect(clock.pending).toBe(0);
});

test("attempts are counted for /metrics/probes until the pod is of no more interest", async () => {
  const entry = entryOf({ readinessProbe: { httpGet: { port } } });
  probing.watch(entry);
  await settled(() => expect(isReady(entry)).toBe(true));

  const [total] = probing.metrics();
  expect(total).toMatchObject({ name: "prober_probe_total", samples: [{ labels: { container: "main", result: "successful" }, value: 1 }] });
  probing.stop(entry.shape.ref.uid);
  expect(probing.metrics()).toEqual([]);
});
