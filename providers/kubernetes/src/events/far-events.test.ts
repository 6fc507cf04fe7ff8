import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { PodEvent, PodRef } from "@virtual-kubelet/core";
import { createKubeClient, ServerHistory, silentLogger, type DeepReadonly, type Pod, type StoreChange } from "@virtual-kubelet/kube-client";
import { OpenBody, ScriptedTransport, type ScriptedAnswer } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import type { FarOwner } from "../identity/tags.ts";
import { apiConnection } from "../test-support/api-connection.ts";
import { farMetadata } from "../test-support/far-metadata.ts";
import { FarEvents, type FarEventsOptions } from "./far-events.ts";

const node = (nodeName: string): FarOwner => ({ clusterId: "home", nodeName });

function farPod(name: string, owner: FarOwner = node("vk")): Pod {
  return { metadata: farMetadata(owner, { namespace: "default", name, uid: `uid-${name}` }) };
}

/** A line of a watch about a far pod's event. */
function line(resourceVersion: string, name: string, reason: string, more: object = {}): object {
  const involvedObject = { kind: "Pod", name: farPod(name).metadata?.name, namespace: "far", uid: `far-${name}` };
  const metadata = { name: `${name}.${reason}`, namespace: "far", resourceVersion };
  return {
    type: "ADDED",
    object: { apiVersion: "v1", kind: "Event", metadata, involvedObject, type: "Normal", reason, message: `${reason} of ${name}`, ...more },
  };
}

const bookmark = (resourceVersion: string): object => ({
  type: "BOOKMARK",
  object: { apiVersion: "v1", kind: "Event", metadata: { resourceVersion } },
});

/** A far cluster whose watches of events the test writes, and the node `vk` that reads them. */
function rig({ answer }: { readonly answer?: (path: string) => ScriptedAnswer | undefined } = {}) {
  const clock = new VirtualClock();
  const watches: OpenBody[] = [];
  const pods = new Map<string, Pod>();
  const listeners = new Set<(change: StoreChange<Pod>) => void>();
  const history = new ServerHistory({ server: "the far cluster", logger: silentLogger });
  let version = 100;
  const transport = new ScriptedTransport(({ path }) => {
    const given = answer?.(path);
    if (given) return given;
    if (path.includes("watch=true")) return { body: watches[watches.push(new OpenBody()) - 1] };
    return { body: { kind: "EventList", apiVersion: "v1", metadata: { resourceVersion: String(version++) }, items: [] } };
  });
  const far: FarEventsOptions["far"] = {
    connection: apiConnection(createKubeClient(transport, { clock })),
    history,
    pods: {
      get size() {
        return pods.size;
      },
      get: (uid) => pods.get(uid),
      getByName: () => undefined,
      list: (): IterableIterator<DeepReadonly<Pod>> => pods.values(),
      subscribe: (listener) => {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    },
  };
  const events = new FarEvents({ far, namespace: "far", clock, random: new SeededRandom(1), logger: silentLogger });
  const told: string[] = [];
  return {
    clock,
    watches,
    told,
    restore(): void {
      history.note("2");
      history.note("1");
    },
    paths: () => transport.requests.map(({ path }) => path),
    show(pod: Pod): void {
      const uid = pod.metadata?.uid ?? "";
      pods.set(uid, pod);
      for (const listener of listeners) listener({ type: "added", uid, object: pod });
    },
    read: (owner = node("vk")) => {
      const seen: { readonly pod: PodRef; readonly event: PodEvent }[] = [];
      const reading = events.read({
        owner,
        onEvent: (pod, event) => void seen.push({ pod, event }),
        onForbidden: (message) => void told.push(message),
      });
      return { seen, reasons: () => seen.map(({ event }) => event.reason), [Symbol.asyncDispose]: () => reading[Symbol.asyncDispose]() };
    },
  };
}

/** Versions from which watches began. */
function begins(paths: readonly string[]): (string | null)[] {
  return paths.filter((path) => path.includes("watch=true")).map((path) => new URL(path, "http://far").searchParams.get("resourceVersion"));
}

test("events of far pods are those of their home pods, from now on, in the far cluster's words", async () => {
  const far = rig();
  far.show(farPod("web"));
  await using reader = far.read();
  await far.clock.settle();
  far.watches[0]?.lines(
    line("101", "web", "FailedScheduling", { type: "Warning", message: "0/3 nodes are available" }),
    line("102", "web", "BackOff", { involvedObject: { ...involved("web"), fieldPath: "spec.containers{main}" } }),
  );
  await far.clock.settle();

  expect(reader.seen).toEqual([
    {
      pod: { namespace: "default", name: "web", uid: "uid-web" },
      event: { type: "Warning", reason: "FailedScheduling", message: "0/3 nodes are available", container: undefined },
    },
    {
      pod: { namespace: "default", name: "web", uid: "uid-web" },
      event: { type: "Normal", reason: "BackOff", message: "BackOff of web", container: "main" },
    },
  ]);
  expect(far.paths()[0]).toBe("/api/v1/namespaces/far/events?fieldSelector=involvedObject.kind%3DPod&limit=1");

  function involved(name: string): object {
    return { kind: "Pod", name: farPod(name).metadata?.name, uid: `far-${name}` };
  }
});

test("an event that comes before its pod waits for it, and events of pods of others do not", async () => {
  const far = rig();
  await using reader = far.read();
  await far.clock.settle();
  const foreign = { involvedObject: { kind: "Pod", name: "coredns-7db6d8ff4d-x2x5z", uid: "far-foreign" } };
  far.watches[0]?.lines(line("101", "web", "Scheduled"), line("102", "foreign", "Pulled", foreign));
  await far.clock.settle();
  expect(reader.seen).toEqual([]);

  far.show(farPod("web"));
  far.show({ ...farPod("foreign"), metadata: { ...farPod("foreign").metadata, uid: "far-foreign" } });

  expect(reader.reasons()).toEqual(["Scheduled"]);
});

test("an event whose pod does not appear within half a minute is forgotten", async () => {
  const far = rig();
  await using reader = far.read();
  await far.clock.settle();
  far.watches[0]?.lines(line("101", "web", "Scheduled"));
  await far.clock.settle();
  await far.clock.advance(30_000);
  far.watches[0]?.lines(line("102", "db", "Scheduled"));
  await far.clock.settle();
  far.show(farPod("web"));
  far.show(farPod("db"));

  expect(reader.seen.map(({ pod }) => pod.name)).toEqual(["db"]);
});

test("a repeated event is passed on each time, and its deletion is not", async () => {
  const far = rig();
  far.show(farPod("web"));
  await using reader = far.read();
  await far.clock.settle();
  const again = line("102", "web", "Unhealthy", { count: 2 });
  far.watches[0]?.lines(line("101", "web", "Unhealthy"), { ...again, type: "MODIFIED" }, { ...again, type: "DELETED" });
  await far.clock.settle();

  expect(reader.reasons()).toEqual(["Unhealthy", "Unhealthy"]);
});

test("an interrupted watch goes on where it was, so that nothing comes twice", async () => {
  const far = rig();
  far.show(farPod("web"));
  await using reader = far.read();
  await far.clock.settle();
  far.watches[0]?.lines(line("101", "web", "Pulled"), bookmark("150")).fail(new Error("reset"));
  await far.clock.advance(2_000);
  far.watches[1]?.lines(line("151", "web", "Started")).end();
  await far.clock.advance(2_000);

  expect(reader.reasons()).toEqual(["Pulled", "Started"]);
  expect(begins(far.paths())).toEqual(["100", "150", "151"]);
});

test("after 410 the watch begins with what happens from then on", async () => {
  const far = rig();
  far.show(farPod("web"));
  await using reader = far.read();
  await far.clock.settle();
  far.watches[0]?.lines({ type: "ERROR", object: { kind: "Status", code: 410, message: "too old" } });
  await far.clock.advance(2_000);
  far.watches[1]?.lines(line("200", "web", "Started"));
  await far.clock.settle();

  expect(begins(far.paths())).toEqual(["100", "101"]);
  expect(reader.reasons()).toEqual(["Started"]);
});

test("after the far cluster was restored from a backup the watch begins anew, because its version lies in the future", async () => {
  const far = rig();
  far.show(farPod("web"));
  await using reader = far.read();
  await far.clock.settle();
  far.watches[0]?.lines(bookmark("900"));
  await far.clock.settle();

  far.restore();
  await far.clock.advance(2_000);
  far.watches[1]?.lines(line("102", "web", "Started"));
  await far.clock.settle();

  expect(begins(far.paths())).toEqual(["100", "101"]);
  expect(reader.reasons()).toEqual(["Started"]);
});

test("a missing right is told once, and tried again every five minutes", async () => {
  let isAllowed = false;
  const forbidden = { status: 403, body: { kind: "Status", code: 403, message: "events is forbidden" } };
  const far = rig({ answer: () => (isAllowed ? undefined : forbidden) });
  await using _reader = far.read();
  await far.clock.advance(299_000);
  expect([far.told, far.paths().length]).toEqual([[expect.stringContaining("events is forbidden")], 1]);

  await far.clock.advance(1_000);
  expect([far.told.length, far.paths().length]).toEqual([1, 2]);
  isAllowed = true;
  await far.clock.advance(300_000);
  expect(far.watches).toHaveLength(1);
});

test("a connection that hangs is left and opened again", async () => {
  const far = rig();
  await using _reader = far.read();
  await far.clock.settle();
  await far.clock.advance(317_000);

  expect([far.watches[0]?.left, far.watches.length]).toEqual([true, 2]);
});

test("all virtual nodes share one watch, each sees its own pods, and the last one ends it", async () => {
  const far = rig();
  far.show(farPod("web", node("vk")));
  far.show(farPod("db", node("gpu")));
  const first = far.read(node("vk"));
  const second = far.read(node("gpu"));
  await far.clock.settle();
  far.watches[0]?.lines(line("101", "web", "Pulled"), line("102", "db", "Pulled"));
  await far.clock.settle();

  expect([first.seen.map(({ pod }) => pod.name), second.seen.map(({ pod }) => pod.name)]).toEqual([["web"], ["db"]]);
  expect(far.watches).toHaveLength(1);
  await first[Symbol.asyncDispose]();
  expect(far.watches[0]?.left).toBe(false);
  await second[Symbol.asyncDispose]();
  expect(far.watches[0]?.left).toBe(true);
});
