import { VirtualClock } from "@virtual-kubelet/clock";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Pod } from "../rest/objects.ts";
import { createKubeClient } from "../rest/rest-client.ts";
import { resources } from "../rest/resources.ts";
import { silentLogger } from "../telemetry/logger.ts";
import { noMetrics } from "../telemetry/metrics.ts";
import { OpenBody, ScriptedTransport, type ScriptedAnswer } from "../transport/scripted-transport.ts";
import type { ObjectWatch } from "./object-watch.ts";
import { PartitionedReflector, type EarlyWatch, type PartitionedReflectorOptions } from "./partitioned-reflector.ts";
import { ServerHistory } from "./server-history.ts";
import type { StoreChange } from "./store.ts";

const sharedQuery = "spec.nodeName!=";

describe("partitions that join before the first list", () => {
  test("share one watch, and each has the objects of its key and no others", async () => {
    const rig = new Rig();
    const [a, b] = [rig.join("a"), rig.join("b")];
    await rig.list("9", pod("u1", "a", "1"), pod("u2", "b", "2"), pod("u3", "c", "3"));

    expect([uidsOf(a), uidsOf(b)]).toEqual([["u1"], ["u2"]]);
    expect([a.isCurrent, b.isCurrent, a.inspect().objects]).toEqual([true, true, 1]);
    expect(rig.selectors).toEqual([sharedQuery]);
  });

  test("are told the changes of their key", async () => {
    const rig = new Rig();
    const [a, b] = [rig.join("a"), rig.join("b")];
    await rig.list("9", pod("u1", "a", "1"));
    const [toA, toB] = [changesOf(a), changesOf(b)];

    await rig.send(line("MODIFIED", pod("u1", "a", "10")), line("ADDED", pod("u2", "b", "11")), line("ADDED", pod("u3", "c", "12")));
    await rig.send(line("DELETED", pod("u1", "a", "13")));

    expect(toA).toEqual(["updated u1", "deleted u1"]);
    expect(toB).toEqual(["added u2"]);
  });

  test("see a deletion that only a list shows as missed", async () => {
    const rig = new Rig();
    const [a, b] = [rig.join("a"), rig.join("b")];
    await rig.list("9", pod("u1", "a", "1"), pod("u2", "b", "2"));
    const missed: string[] = [];
    for (const { store } of [a, b]) store.subscribe((change) => change.type === "deleted" && change.missed && missed.push(change.uid));

    await rig.send({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
    await rig.clock.advance(2_000);
    expect([a.isCurrent, b.isCurrent]).toEqual([false, false]);
    await rig.list("50", pod("u2", "b", "2"));

    expect(missed).toEqual(["u1"]);
    expect([a.isCurrent, uidsOf(b)]).toEqual([true, ["u2"]]);
  });

  test("list anew together when the server was restored from a backup", async () => {
    const rig = new Rig();
    const [a, b] = [rig.join("a"), rig.join("b")];
    await rig.list("90", pod("u1", "a", "80"), pod("u2", "b", "81"));

    rig.history.note("100", "x");
    rig.history.note("60", "x");
    await rig.clock.advance(2_000);
    await rig.list("61", pod("u1", "a", "7"));

    expect([uidsOf(a), uidsOf(b)]).toEqual([["u1"], []]);
    expect(a.store.get("u1")?.metadata?.resourceVersion).toBe("7");
  });
});

describe("a partition that joins later", () => {
  test("lists its own objects once, and then follows the shared watch", async () => {
    const rig = new Rig();
    rig.join("a");
    await rig.list("9");

    const b = rig.join("b");
    expect(b.isCurrent).toBe(false);
    rig.answerList("20", pod("u2", "b", "12"));
    await b.synced;
    await rig.send(line("ADDED", pod("u3", "b", "21")));

    expect([b.isCurrent, uidsOf(b)]).toEqual([true, ["u2", "u3"]]);
    expect(rig.selectors).toEqual([sharedQuery, "spec.nodeName=b"]);
  });

  test("ignores events that its list already has, whether they come before or after its answer", async () => {
    const rig = new Rig();
    rig.join("a");
    await rig.list("9");
    const b = rig.join("b");

    await rig.send(line("ADDED", pod("gone", "b", "10")));
    rig.answerList("20", pod("u2", "b", "14"));
    await b.synced;
    const changes = changesOf(b);
    await rig.send(line("DELETED", pod("gone", "b", "11")), line("MODIFIED", pod("u2", "b", "13")), line("DELETED", pod("u2", "b", "21")));

    expect(changes).toEqual(["deleted u2"]);
  });

  test("applies events to its list that came before its answer and are later", async () => {
    const rig = new Rig();
    rig.join("a");
    await rig.list("9");
    const b = rig.join("b");

    await rig.send(line("MODIFIED", pod("u2", "b", "22")), line("DELETED", pod("u3", "b", "23")));
    rig.answerList("20", pod("u2", "b", "14"), pod("u3", "b", "15"));
    await b.synced;

    expect([...b.store.list()].map(({ metadata }) => `${metadata?.uid} ${metadata?.resourceVersion}`)).toEqual(["u2 22"]);
  });

  test("waits for a list that is under way, because that may have passed its objects", async () => {
    const rig = new Rig();
    const a = rig.join("a");
    await rig.send(line("ADDED", pod("u1", "a", "1")), line("ADDED", pod("u2", "b", "2")));
    const b = rig.join("b");
    await rig.list("9");
    await a.synced;
    expect([b.isCurrent, uidsOf(b)]).toEqual([false, []]);

    rig.answerList("12", pod("u2", "b", "2"));
    await b.synced;

    expect([b.isCurrent, uidsOf(b)]).toEqual([true, ["u2"]]);
  });

  test("tries again when its list fails", async () => {
    const rig = new Rig();
    rig.join("a");
    await rig.list("9");
    const b = rig.join("b");
    rig.lists.shift()?.({ status: 500 });
    await rig.clock.advance(10_000);
    rig.answerList("12", pod("u2", "b", "2"));
    await b.synced;

    expect(uidsOf(b)).toEqual(["u2"]);
  });
});

describe("a partition that is expired when it is run", () => {
  test("is not current before a list of its own, which it compares with what it has", async () => {
    const rig = new Rig();
    const a = rig.join("a");
    await rig.list("9", pod("u1", "a", "1"), pod("u2", "a", "2"));
    const changes = changesOf(a);

    a.expire();
    expect(a.isCurrent).toBe(true);
    void a.run(new AbortController().signal);
    await rig.send(line("MODIFIED", pod("u1", "a", "10")));
    expect([a.isCurrent, changes]).toEqual([false, []]);
    rig.answerList("20", pod("u1", "a", "19"));
    await a.synced;
    await rig.send(line("MODIFIED", pod("u1", "a", "19")), line("MODIFIED", pod("u1", "a", "21")));

    expect([a.isCurrent, changes]).toEqual([true, ["deleted u2", "updated u1", "updated u1"]]);
    expect(a.store.get("u1")?.metadata?.resourceVersion).toBe("21");
  });

  test("before the shared list begins needs no other", async () => {
    const rig = new Rig();
    const a = rig.join("a");
    const before = a.synced;
    a.expire();
    void a.run(new AbortController().signal);
    await rig.list("9", pod("u1", "a", "1"));
    await Promise.all([before, a.synced]);

    expect([a.isCurrent, uidsOf(a), rig.lists.length]).toEqual([true, ["u1"], 0]);
  });
});

describe("a partition that is left", () => {
  test("gets nothing any more, and its key can be followed again", async () => {
    const rig = new Rig();
    rig.join("b");
    const a = rig.join("a");
    await rig.list("9", pod("u1", "a", "1"));
    a[Symbol.dispose]();
    await rig.send(line("ADDED", pod("u2", "a", "10")));
    const again = rig.join("a");
    rig.answerList("12", pod("u2", "a", "10"));
    await again.synced;

    expect([a.isCurrent, uidsOf(a), uidsOf(again)]).toEqual([false, ["u1"], ["u2"]]);
  });

  test("ends the shared watch if it was the last", async () => {
    const rig = new Rig();
    const a = rig.join("a");
    await rig.list("9");
    a[Symbol.dispose]();
    await rig.clock.advance(600_000);

    expect([rig.selectors.length, rig.clock.pending, rig.reflector.size]).toEqual([1, 0, 0]);
  });

  test("leaves a shared watch that goes on for a while, so that one that comes again lists only its own objects", async () => {
    const rig = new Rig({ lingerMs: 30_000 });
    for (let attempt = 0; attempt < 3; attempt++) {
      rig.join("a")[Symbol.dispose]();
      await rig.clock.advance(20_000);
      if (attempt === 0) await rig.list("9", pod("u1", "a", "1"));
    }
    // Lists of those that have left.
    rig.lists.length = 0;
    const a = rig.join("a");
    rig.answerList("20", pod("u1", "a", "10"));
    await a.synced;
    await rig.send(line("ADDED", pod("u2", "a", "21")));
    await rig.clock.advance(40_000);

    expect([a.isCurrent, uidsOf(a)]).toEqual([true, ["u1", "u2"]]);
    expect(rig.selectors.filter((selector) => selector === sharedQuery)).toHaveLength(1);
  });

  test("leaves a shared watch that is begun anew if the server was restored from a backup before one comes again", async () => {
    const rig = new Rig({ lingerMs: 30_000 });
    const left = rig.join("a");
    await rig.list("90", pod("u1", "a", "80"));
    left[Symbol.dispose]();

    // Nothing comes from a watch of the former history.
    const a = rig.join("a");
    rig.answerList("61", pod("u1", "a", "7"));
    await rig.clock.advance(2_000);
    expect(a.isCurrent).toBe(false);
    await rig.list("62", pod("u1", "a", "7"));
    await rig.send(line("ADDED", pod("u2", "a", "63")));

    expect([a.isCurrent, uidsOf(a)]).toEqual([true, ["u1", "u2"]]);
    expect(rig.selectors).toEqual([sharedQuery, "spec.nodeName=a", sharedQuery]);
  });

  test("leaves a shared watch that waits after a failure no longer when one comes again", async () => {
    let isDown = true;
    const rig = new Rig({ lingerMs: 30_000, answer: () => (isDown ? { status: 500 } : undefined) });
    const left = rig.join("a");
    for (let second = 0; second < 60; second++) await rig.clock.advance(1_000);
    left[Symbol.dispose]();
    isDown = false;
    const before = rig.selectors.length;

    const a = rig.join("a");
    await rig.list("9", pod("u1", "a", "1"));

    expect(rig.selectors.slice(before)).toEqual([sharedQuery]);
    expect([a.isCurrent, uidsOf(a)]).toEqual([true, ["u1"]]);
  });

  test("ends the shared watch if none comes again in time", async () => {
    const rig = new Rig({ lingerMs: 30_000 });
    const a = rig.join("a");
    await rig.list("9");
    a[Symbol.dispose]();
    await rig.clock.advance(30_000);
    expect(rig.clock.pending).toBe(0);

    const again = rig.join("a");
    await rig.list("9", pod("u1", "a", "1"));
    expect([uidsOf(again), rig.selectors]).toEqual([["u1"], [sharedQuery, sharedQuery]]);
  });

  test.for(["before", "after"])("ends the shared watch at once if that was disposed of %s", async (order) => {
    const rig = new Rig({ lingerMs: 30_000 });
    const a = rig.join("a");
    await rig.list("9");
    if (order === "before") rig.reflector[Symbol.dispose]();
    expect(a.isCurrent).toBe(true);
    a[Symbol.dispose]();
    if (order === "after") rig.reflector[Symbol.dispose]();
    await rig.clock.advance(0);

    expect(rig.clock.pending).toBe(0);
  });

  test("may not be joined twice at a time", () => {
    const rig = new Rig();
    rig.join("a");
    expect(() => rig.join("a")).toThrow("follow pods of a: they are followed already");
  });
});

test("a failure of the shared watch, which is a fault of the program, is told to all that wait", async () => {
  const fault = new TypeError("a fault");
  let looks = 0;
  const rig = new Rig({
    lingerMs: 30_000,
    keyOf: ({ spec }) => {
      // What fails while an object is read is tried again.
      if (++looks > 2) throw fault;
      return spec?.nodeName;
    },
  });
  const a = rig.join("a");
  const running = a.run(new AbortController().signal);
  const outcomes = Promise.allSettled([running, a.synced]);
  await rig.list("9", pod("u1", "a", "1"));

  expect(await outcomes).toMatchObject([{ reason: fault }, { reason: fault }]);
  a[Symbol.dispose]();
  rig.join("b");
  await rig.clock.advance(0);
  expect(rig.selectors).toEqual([sharedQuery, sharedQuery]);
});

describe("where the shared watch is refused", () => {
  const forbidden: ScriptedAnswer = { status: 403, body: { kind: "Status", reason: "Forbidden", message: "no" } };

  test("every partition has a watch of its own if that is allowed, also one that joins later", async () => {
    const rig = new Rig({ answer: (selector, isWatch) => (selector === sharedQuery ? forbidden : isWatch ? undefined : page("9")) });
    const a = rig.join("a");
    await rig.clock.advance(0);
    const b = rig.join("b");
    await rig.clock.advance(0);
    await rig.list("9", pod("u1", "a", "1"));
    await rig.list("9", pod("u2", "b", "2"));

    expect([uidsOf(a), uidsOf(b), a.isCurrent, b.isCurrent]).toEqual([["u1"], ["u2"], true, true]);
    expect(rig.selectors).toEqual([sharedQuery, "spec.nodeName=a", sharedQuery, "spec.nodeName=a", "spec.nodeName=b"]);
    b.expire();
    void b.run(new AbortController().signal);
    expect(b.isCurrent).toBe(false);
    await rig.list("12", pod("u3", "b", "11"));
    expect([b.isCurrent, uidsOf(b)]).toEqual([true, ["u3"]]);
    a[Symbol.dispose]();
    await rig.clock.advance(0);
    expect([a.isCurrent, b.isCurrent]).toEqual([false, true]);
  });

  test("it is tried again when the last partition has left", async () => {
    let isRefused = true;
    const answer: Answer = (selector, isWatch) => (selector === sharedQuery && isRefused ? forbidden : isWatch ? undefined : page("9"));
    const rig = new Rig({ answer });
    const a = rig.join("a");
    await rig.list("9");
    isRefused = false;
    a[Symbol.dispose]();
    const b = rig.join("b");
    await rig.list("9", pod("u2", "b", "2"));

    expect([rig.selectors.at(-1), b.isCurrent, uidsOf(b)]).toEqual([sharedQuery, true, ["u2"]]);
  });

  test("only for a moment, it is tried again, because a server that starts refuses what it allows later", async () => {
    let refusals = 1;
    const rig = new Rig({ answer: (_selector, isWatch) => (isWatch ? (refusals-- > 0 ? forbidden : undefined) : page("9")) });
    const [a, b] = [rig.join("a"), rig.join("b")];
    await rig.clock.advance(2_000);
    await rig.list("9", pod("u1", "a", "1"), pod("u2", "b", "1"));

    expect([uidsOf(a), uidsOf(b)]).toEqual([["u1"], ["u2"]]);
    expect(rig.selectors.at(-1)).toBe(sharedQuery);
  });

  test("it is tried again if everything is refused", async () => {
    let isStarting = true;
    const rig = new Rig({ answer: () => (isStarting ? forbidden : undefined) });
    const a = rig.join("a");
    await rig.clock.advance(500);
    isStarting = false;
    await rig.clock.advance(2_000);
    await rig.list("9", pod("u1", "a", "1"));

    expect(uidsOf(a)).toEqual(["u1"]);
    expect(rig.selectors.at(-1)).toBe(sharedQuery);
  });
});

/** What the test's server answers; `undefined`: a watch that stays open, or a list that the test answers. */
type Answer = (selector: string, isWatch: boolean) => ScriptedAnswer | undefined;

/** A partitioned reflector of pods by node on a scripted API server. */
class Rig {
  readonly clock = new VirtualClock();
  readonly history = new ServerHistory({ server: "the API server", logger: silentLogger });
  readonly reflector: PartitionedReflector<Pod>;
  /** Field selectors of all requests. */
  readonly selectors: string[] = [];
  /** Answer the lists that wait. */
  readonly lists: ((answer: ScriptedAnswer) => void)[] = [];
  /** Open watches whose list is not complete. */
  readonly #unlisted: OpenBody[] = [];
  #watch: OpenBody | undefined;

  constructor({
    answer = () => undefined,
    keyOf = ({ spec }) => spec?.nodeName,
    lingerMs,
  }: { readonly answer?: Answer } & Partial<Pick<PartitionedReflectorOptions<Pod>, "keyOf" | "lingerMs">> = {}) {
    const transport = new ScriptedTransport((request) => {
      const query = new URL(request.path, "http://server").searchParams;
      const selector = query.get("fieldSelector") ?? "";
      this.selectors.push(selector);
      return answer(selector, query.has("watch")) ?? (query.has("watch") ? this.#open() : this.#list());
    });
    this.reflector = new PartitionedReflector<Pod>({
      client: createKubeClient(transport, { clock: this.clock }),
      resource: resources.pods,
      query: { fieldSelector: sharedQuery },
      keyOf,
      lingerMs,
      queryOf: (key) => ({ fieldSelector: `spec.nodeName=${key}` }),
      clock: this.clock,
      random: { next: () => 0, uuid: () => "" },
      logger: silentLogger,
      metrics: noMetrics,
      history: this.history,
    });
  }

  join(key: string): EarlyWatch<Pod> & Disposable {
    const partition = this.reflector.join(key);
    onTestFinished(() => partition[Symbol.dispose]());
    return partition;
  }

  /** Completes the list of the watch that was opened first. */
  async list(version: string, ...pods: readonly Pod[]): Promise<void> {
    await this.clock.advance(0);
    this.#watch = this.#unlisted.shift();
    await this.send(...pods.map((each) => line("ADDED", each)), {
      type: "BOOKMARK",
      object: {
        kind: "Pod",
        apiVersion: "v1",
        metadata: { resourceVersion: version, annotations: { "k8s.io/initial-events-end": "true" } },
      },
    });
  }

  async send(...lines: readonly object[]): Promise<void> {
    await this.clock.advance(0);
    (this.#watch ?? this.#unlisted[0])?.lines(...lines);
    await this.clock.advance(0);
  }

  answerList(version: string, ...pods: readonly Pod[]): void {
    this.lists.shift()?.(page(version, ...pods));
  }

  #open(): ScriptedAnswer {
    const body = new OpenBody();
    this.#unlisted.push(body);
    return { body };
  }

  #list(): Promise<ScriptedAnswer> {
    return new Promise((resolve) => this.lists.push(resolve));
  }
}

function pod(uid: string, nodeName: string, resourceVersion: string): Pod {
  return { metadata: { uid, name: uid, namespace: "default", resourceVersion }, spec: { nodeName, containers: [] } };
}

function line(type: string, object: Pod): object {
  return { type, object: { kind: "Pod", apiVersion: "v1", ...object } };
}

function page(resourceVersion: string, ...items: readonly Pod[]): ScriptedAnswer {
  return { body: { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion }, items } };
}

function uidsOf({ store }: ObjectWatch<Pod>): (string | undefined)[] {
  return [...store.list()].map(({ metadata }) => metadata?.uid);
}

function changesOf({ store }: ObjectWatch<Pod>): string[] {
  const changes: string[] = [];
  store.subscribe(({ type, uid }: StoreChange<Pod>) => changes.push(`${type} ${uid}`));
  return changes;
}
