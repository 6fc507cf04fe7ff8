import { untilAborted } from "@virtual-kubelet/async";
import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { ForbiddenError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { apiError } from "../errors/api-error.ts";
import type { KubeClient, ObjectName, Patch } from "../rest/client.ts";
import { EventBudget } from "./event-budget.ts";
import { createEventRecorder, type EventRecorder } from "./event-recorder.ts";
import { silentLogger } from "../telemetry/logger.ts";
import { noMetrics } from "../telemetry/metrics.ts";
import type { CoreEvent, ObjectReference } from "../rest/objects.ts";
import type { Resource } from "../rest/resources.ts";

const pod = { apiVersion: "v1", kind: "Pod", namespace: "apps", name: "web", uid: "u1" };

/** One of many pods, as each has little to say by itself. */
function podOf(index: number): ObjectReference {
  return { ...pod, name: `web-${index}`, uid: `u-${index}` };
}

/** A recorder that runs on an API that keeps what it is sent. */
class Rig implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly created: CoreEvent[] = [];
  readonly patches: unknown[] = [];
  /** What was patched, and how. */
  readonly patched: object[] = [];
  /** What was written, in the plural. */
  readonly resources: string[] = [];
  readonly counts = new Map<string, number>();
  readonly recorder: EventRecorder;
  fail: ((verb: "create" | "patch", namespace?: string) => void) | undefined;
  hold: Promise<void> | undefined;
  waitingWrites = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor({ clock = new VirtualClock(), budget }: { readonly clock?: VirtualClock; readonly budget?: EventBudget } = {}) {
    this.clock = clock;
    const client = {
      create: async ({ plural }: Resource<CoreEvent>, event: CoreEvent) => {
        this.fail?.("create", event.metadata?.namespace);
        await this.hold;
        this.resources.push(plural);
        this.created.push(event);
        return event;
      },
      patch: async ({ plural }: Resource<CoreEvent>, { namespace, name }: ObjectName, { type, body }: Patch) => {
        this.fail?.("patch");
        this.resources.push(plural);
        this.patched.push({ namespace, name, type });
        this.patches.push(body);
      },
    };
    this.recorder = createEventRecorder({
      client: client as unknown as KubeClient,
      component: "virtual-kubelet",
      host: "node-1",
      clock: this.clock,
      random: new SeededRandom(1),
      budget,
      waitingWrites: () => this.waitingWrites,
      logger: silentLogger,
      metrics: {
        count: (name, _labels, value = 1) => void this.counts.set(name, (this.counts.get(name) ?? 0) + value),
        gauge() {},
        observe() {},
      },
    });
    this.#running = this.recorder.run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(0);
    await this.#running;
  }
}

test("an event names its object, its source and its time", async () => {
  await using rig = new Rig();

  rig.recorder.event(pod, "Warning", "ProviderFailed", "no room");
  await rig.clock.advance(0);

  expect(rig.created).toEqual([
    expect.objectContaining({
      metadata: { namespace: "apps", name: expect.stringMatching(/^web\.[0-9a-f]{16}$/) },
      involvedObject: pod,
      type: "Warning",
      reason: "ProviderFailed",
      message: "no room",
      source: { component: "virtual-kubelet", host: "node-1" },
      firstTimestamp: "2026-01-01T00:00:00Z",
      count: 1,
    }),
  ]);
});

test("events of an object without a namespace are kept in default", async () => {
  await using rig = new Rig();

  rig.recorder.event({ kind: "Node", name: "node-1", uid: "node-1" }, "Normal", "NodeReady", "");
  await rig.clock.advance(0);

  expect(rig.created[0]?.metadata?.namespace).toBe("default");
});

test("the same event again counts up the first, for ten minutes", async () => {
  await using rig = new Rig();

  for (let time = 0; time < 3; time++) {
    rig.recorder.event(pod, "Warning", "BackOff", "again");
    await rig.clock.advance(1_000);
  }
  expect(rig.created).toHaveLength(1);
  expect(rig.patches).toEqual([
    { count: 2, lastTimestamp: "2026-01-01T00:00:01Z" },
    { count: 3, lastTimestamp: "2026-01-01T00:00:02Z" },
  ]);

  await rig.clock.advance(600_000);
  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(0);
  expect(rig.created).toHaveLength(2);
});

test("an event that expired at the server is made anew", async () => {
  await using rig = new Rig();
  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(0);
  rig.fail = (verb) => {
    if (verb === "patch") throw new NotFoundError("gone");
  };

  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(0);

  expect(rig.created).toHaveLength(2);
});

test("a burst of a hundred goes at once, then fifty a second", async () => {
  await using rig = new Rig();
  for (let index = 0; index < 300; index++) rig.recorder.event(podOf(index), "Normal", "Created", `container ${index}`);

  await rig.clock.advance(0);
  expect(rig.created).toHaveLength(100);
  await rig.clock.advance(1_000);
  expect(rig.created).toHaveLength(150);
  await rig.clock.advance(3_000);
  expect(rig.created).toHaveLength(300);
});

test("more than a thousand waiting are dropped and counted", async () => {
  await using rig = new Rig();

  for (let index = 0; index < 1_500; index++) rig.recorder.event(podOf(index), "Normal", "Created", `container ${index}`);

  expect(rig.counts.get("vk_events_dropped_total")).toBe(500);
  expect(rig.recorder.counts).toEqual({ waiting: 1_000, dropped: 500, failed: 0 });
});

test("recorders that share a budget drop what is beyond 20,000, until some are sent or a recorder ends", async () => {
  const clock = new VirtualClock();
  const budget = new EventBudget({ clock });
  const rigs = Array.from({ length: 21 }, () => new Rig({ clock, budget }));
  const [first, ...others] = rigs;
  const last = others.pop();
  for (const { recorder } of [first, ...others].flatMap((rig) => rig ?? []))
    for (let index = 0; index < 1_000; index++) recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  last?.recorder.event(pod, "Normal", "Created", "too many");
  expect(last?.recorder.counts).toMatchObject({ waiting: 0, dropped: 1 });

  await clock.advance(0);
  for (let index = 0; index < 150; index++) last?.recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  expect(last?.recorder.counts).toMatchObject({ waiting: 100, dropped: 51 });

  await first?.[Symbol.asyncDispose]();
  for (let index = 150; index < 250; index++) last?.recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  expect(last?.recorder.counts).toMatchObject({ waiting: 200, dropped: 51 });
  await Promise.all(rigs.map((rig) => rig[Symbol.asyncDispose]()));
  expect(budget.hasRoom).toBe(true);
});

test("an event that is refused is lost, and nothing else", async () => {
  await using rig = new Rig();
  rig.fail = () => {
    throw new ForbiddenError("namespace is being terminated");
  };
  rig.recorder.event(pod, "Normal", "Created", "lost");
  await rig.clock.advance(0);
  rig.fail = undefined;

  rig.recorder.event(pod, "Normal", "Created", "kept");
  await rig.clock.advance(0);

  expect(rig.created.map(({ message }) => message)).toEqual(["kept"]);
  expect(rig.counts.get("vk_events_failed_total")).toBe(1);
});

test("events wait for an API server that is away, in their order", async () => {
  await using rig = new Rig();
  rig.fail = () => {
    throw new UnavailableError("down");
  };
  rig.recorder.event(pod, "Normal", "Created", "first");
  rig.recorder.event(pod, "Normal", "Created", "second");
  await rig.clock.advance(60_000);
  rig.fail = undefined;
  await rig.clock.advance(10_000);

  expect(rig.created.map(({ message }) => message)).toEqual(["first", "second"]);
  expect(rig.counts.get("vk_events_failed_total")).toBeUndefined();
});

test("a namespace of which the server takes no events now keeps no other one waiting, nor all the room", async () => {
  await using rig = new Rig();
  let tries = 0;
  let isBusy = true;
  rig.fail = (_verb, namespace) => {
    if (namespace !== "busy" || !isBusy) return;
    tries++;
    throw apiError({ operation: "create events", code: 429, body: "limit reached" });
  };
  const busy = (index: number): ObjectReference => ({ ...podOf(index), namespace: "busy" });
  rig.recorder.event(busy(0), "Normal", "Created", "first");
  await rig.clock.advance(0);
  for (let index = 1; index < 1_000; index++) rig.recorder.event(busy(index), "Normal", "Created", `busy ${index}`);
  for (let index = 0; index < 50; index++) rig.recorder.event(podOf(index), "Normal", "Created", `web ${index}`);
  await rig.clock.advance(9_999);

  expect(rig.created).toHaveLength(50);
  expect(tries).toBe(1);
  expect(rig.counts.get("vk_events_dropped_total")).toBe(500);
  await rig.clock.advance(1);
  expect(tries).toBe(2);
  isBusy = false;
  await rig.clock.advance(20_000);

  expect(rig.created).toHaveLength(550);
  expect(rig.created[50]?.message).toBe("first");
});

test("an event is given up after twelve tries", async () => {
  await using rig = new Rig();
  rig.fail = () => {
    throw new UnavailableError("busy", { retryAfterMs: 1_000 });
  };

  rig.recorder.event(pod, "Normal", "Created", "first");
  await rig.clock.advance(10_999);
  expect(rig.counts.get("vk_events_failed_total")).toBeUndefined();
  await rig.clock.advance(1);

  expect(rig.counts.get("vk_events_failed_total")).toBe(1);
});

test("an event that waited behind one that was given up has twelve tries of its own", async () => {
  await using rig = new Rig();
  rig.fail = () => {
    throw new UnavailableError("down");
  };
  rig.recorder.event(pod, "Normal", "Created", "first");
  rig.recorder.event(pod, "Normal", "Created", "second");
  await rig.clock.advance(110_000);
  expect(rig.counts.get("vk_events_failed_total")).toBe(1);
  await rig.clock.advance(109_999);
  expect(rig.counts.get("vk_events_failed_total")).toBe(1);
  await rig.clock.advance(1);

  expect(rig.counts.get("vk_events_failed_total")).toBe(2);
});

test("an object's name that leaves no room for more is not part of the event's", async () => {
  await using rig = new Rig();

  rig.recorder.event({ ...pod, name: "x".repeat(253) }, "Normal", "Created", "");
  await rig.clock.advance(0);

  expect(rig.created[0]?.metadata?.name).toMatch(/^[0-9a-f-]{36}$/);
});

test("an event under way at the end is sent, and no more than two seconds are spent on the rest", async () => {
  const rig = new Rig();
  const answer = Promise.withResolvers<void>();
  rig.hold = answer.promise;
  for (let index = 0; index < 3; index++) rig.recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  await rig.clock.advance(0);

  const disposed = rig[Symbol.asyncDispose]();
  await rig.clock.advance(2_000);
  answer.resolve();
  await disposed;

  expect(rig.created.map(({ message }) => message)).toEqual(["container 0"]);
  expect(rig.counts.get("vk_events_dropped_total")).toBe(2);
});

test("a long message is cut to what the API server takes", async () => {
  await using rig = new Rig();

  rig.recorder.event(pod, "Normal", "Created", "x".repeat(5_000));
  await rig.clock.advance(0);

  expect(rig.created[0]?.message).toHaveLength(1_024);
});

test("what is left at the end is sent, beyond the budget", async () => {
  const rig = new Rig();
  for (let index = 0; index < 120; index++) rig.recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  await rig.clock.advance(0);

  await rig[Symbol.asyncDispose]();

  expect(rig.created).toHaveLength(120);
});

test("an event is shown in full: who reports it, for which object, since when and how often", async () => {
  await using rig = new Rig();

  rig.recorder.event({ ...pod, fieldPath: "spec.containers{main}" }, "Normal", "Started", "container main started");
  await rig.clock.advance(0);

  expect(rig.created).toEqual([
    {
      metadata: { name: expect.stringMatching(/^web\.[0-9a-f]{16}$/), namespace: "apps" },
      involvedObject: { ...pod, fieldPath: "spec.containers{main}" },
      type: "Normal",
      reason: "Started",
      message: "container main started",
      source: { component: "virtual-kubelet", host: "node-1" },
      reportingComponent: "virtual-kubelet",
      reportingInstance: "node-1",
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00Z",
      count: 1,
    },
  ]);
  expect(rig.resources).toEqual(["events"]);
});

test("the same event again counts up the one that was recorded, by its name and namespace", async () => {
  await using rig = new Rig();
  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(0);

  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(0);

  expect(rig.patched).toEqual([{ namespace: "apps", name: rig.created[0]?.metadata?.name, type: "merge" }]);
  expect(rig.resources).toEqual(["events", "events"]);
});

test.each<[string, (recorder: EventRecorder) => void]>([
  ["kind", (recorder) => recorder.event({ ...pod, kind: "Node" }, "Warning", "BackOff", "again")],
  ["namespace", (recorder) => recorder.event({ ...pod, namespace: "other" }, "Warning", "BackOff", "again")],
  ["name", (recorder) => recorder.event({ ...pod, name: "other" }, "Warning", "BackOff", "again")],
  ["UID", (recorder) => recorder.event({ ...pod, uid: "u2" }, "Warning", "BackOff", "again")],
  ["field", (recorder) => recorder.event({ ...pod, fieldPath: "spec.containers{main}" }, "Warning", "BackOff", "again")],
  ["type", (recorder) => recorder.event(pod, "Normal", "BackOff", "again")],
  ["reason", (recorder) => recorder.event(pod, "Warning", "Other", "again")],
  ["message", (recorder) => recorder.event(pod, "Warning", "BackOff", "other")],
])("an event of another %s is another event", async (_, record) => {
  await using rig = new Rig();
  rig.recorder.event(pod, "Warning", "BackOff", "again");

  record(rig.recorder);
  await rig.clock.advance(0);

  expect(rig.created).toHaveLength(2);
});

test("an event is counted up until ten minutes after the first, whenever the last was", async () => {
  await using rig = new Rig();
  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(599_999);
  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(1);
  expect(rig.created).toHaveLength(1);

  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(0);

  expect(rig.created).toHaveLength(2);
  expect(rig.patches).toHaveLength(1);
});

test("an event that was made anew is counted up from one", async () => {
  await using rig = new Rig();
  const record = async (): Promise<void> => {
    rig.recorder.event(pod, "Warning", "BackOff", "again");
    await rig.clock.advance(0);
  };
  await record();
  rig.fail = (verb) => {
    if (verb === "patch") throw new NotFoundError("gone");
  };
  await record();
  rig.fail = undefined;

  await record();

  expect(rig.patches).toEqual([{ count: 2, lastTimestamp: "2026-01-01T00:00:00Z" }]);
  expect(rig.patched).toMatchObject([{ name: rig.created[1]?.metadata?.name }]);
});

test("an event that could not be counted up is counted up later, once", async () => {
  await using rig = new Rig();
  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(0);
  let tries = 0;
  rig.fail = () => {
    if (tries++ < 2) throw new UnavailableError("down");
  };

  rig.recorder.event(pod, "Warning", "BackOff", "again");
  await rig.clock.advance(20_000);

  expect(rig.patches).toEqual([{ count: 2, lastTimestamp: "2026-01-01T00:00:00Z" }]);
  expect(rig.created).toHaveLength(1);
});

test("four thousand and ninety-six events are remembered, and of more the one that was not repeated for longest is forgotten", async () => {
  await using rig = new Rig();
  const record = async (index: number): Promise<void> => {
    rig.recorder.event(podOf(index), "Normal", "Created", "container");
    await rig.clock.advance(20);
  };
  for (let index = 0; index < 4_096; index++) await record(index);
  await record(0);
  expect(rig.created).toHaveLength(4_096);

  await record(4_096);
  await record(0);
  await record(2);
  expect(rig.created).toHaveLength(4_097);
  await record(1);

  expect(rig.created).toHaveLength(4_098);
});

test("a noisy pod's events are combined, and leave room for everybody else's", async () => {
  await using rig = new Rig();
  const noisy = podOf(0);
  for (let second = 0; second < 600; second++) {
    for (let index = 0; index < 200; index++) rig.recorder.event(noisy, "Warning", "Unhealthy", `probe failed, request ${second}-${index}`);
    if (second === 300) rig.recorder.event(podOf(1), "Normal", "Created", "container");
    await rig.clock.advance(1_000);
  }

  const ofNoisy = rig.created.filter(({ involvedObject }) => involvedObject.name === noisy.name);
  expect(ofNoisy.map(({ message }) => message).slice(0, 9)).toEqual(
    Array.from({ length: 9 }, (_, index) => `probe failed, request 0-${index}`),
  );
  expect(ofNoisy[9]?.message).toBe("(combined from similar events): probe failed, request 0-9");
  expect(ofNoisy).toHaveLength(10);
  expect(rig.patches).toHaveLength(16);
  expect(rig.patches[0]).toEqual({
    count: 2,
    lastTimestamp: "2026-01-01T00:00:00Z",
    message: "(combined from similar events): probe failed, request 0-10",
  });
  // It counts those that were held back for five minutes.
  expect(rig.patches[15]).toMatchObject({ count: 300 * 200 - 8 });
  expect(rig.created.filter(({ involvedObject }) => involvedObject.name === "web-1")).toHaveLength(1);
  expect(rig.counts.get("vk_events_filtered_total")).toBe(600 * 200 - 26);
  expect(rig.counts.get("vk_events_dropped_total")).toBeUndefined();
});

test("a combined event is no longer than the API server takes", async () => {
  await using rig = new Rig();

  for (let index = 0; index < 10; index++) rig.recorder.event(pod, "Normal", "Created", `${index}`.padEnd(1_024, "x"));
  await rig.clock.advance(0);

  expect(rig.created[9]?.message).toHaveLength(1_024);
  expect(rig.created[9]?.message).toMatch(/^\(combined from similar events\): 9x+…$/);
});

test("events that were dropped for want of room are in the count of the next", async () => {
  await using rig = new Rig();
  for (let index = 0; index < 1_000; index++) rig.recorder.event(podOf(index), "Normal", "Created", "container");
  rig.recorder.event(pod, "Normal", "Created", "container");
  expect(rig.counts.get("vk_events_dropped_total")).toBe(1);
  await rig.clock.advance(60_000);

  rig.recorder.event(pod, "Normal", "Created", "container");
  await rig.clock.advance(0);

  expect(rig.created.at(-1)).toMatchObject({ involvedObject: pod, count: 2 });
});

test("a server that asks for a long rest is asked again after a minute, because all events wait behind this one", async () => {
  await using rig = new Rig();
  let tries = 0;
  rig.fail = () => {
    if (tries++ === 0) throw new UnavailableError("busy", { retryAfterMs: 1e23 });
  };

  rig.recorder.event(pod, "Normal", "Created", "container");
  await rig.clock.advance(59_999);
  expect(rig.created).toEqual([]);
  await rig.clock.advance(1);

  expect(rig.created).toHaveLength(1);
});

test("after the burst one event goes every twenty milliseconds", async () => {
  await using rig = new Rig();
  for (let index = 0; index < 110; index++) rig.recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  await rig.clock.advance(0);

  await rig.clock.advance(19);
  expect(rig.created).toHaveLength(100);
  await rig.clock.advance(1);
  expect(rig.created).toHaveLength(101);
  await rig.clock.advance(40);
  expect(rig.created).toHaveLength(103);
});

test("a long silence saves up no more than one burst", async () => {
  await using rig = new Rig();
  await rig.clock.advance(3_600_000);

  for (let index = 0; index < 110; index++) rig.recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  await rig.clock.advance(0);

  expect(rig.created).toHaveLength(100);
});

test("an event that could not be recorded is tried again after ten seconds", async () => {
  await using rig = new Rig();
  let tries = 0;
  rig.fail = () => {
    tries++;
    throw new UnavailableError("down");
  };
  rig.recorder.event(pod, "Normal", "Created", "first");
  await rig.clock.advance(9_999);
  expect(tries).toBe(1);

  await rig.clock.advance(1);
  expect(tries).toBe(2);
  await rig.clock.advance(100_000);
  expect(tries).toBe(12);
  await rig.clock.advance(100_000);

  expect(tries).toBe(12);
  expect(rig.counts.get("vk_events_failed_total")).toBe(1);
});

test("a name of 253 characters is long enough for the object's, and one more is not", async () => {
  await using rig = new Rig();

  rig.recorder.event({ ...pod, name: "x".repeat(236) }, "Normal", "Created", "");
  rig.recorder.event({ ...pod, name: "x".repeat(237) }, "Normal", "Created", "");
  await rig.clock.advance(0);

  const names = rig.created.map(({ metadata }) => metadata?.name ?? "");
  expect(names[0]).toMatch(/^x{236}\.[0-9a-f]{16}$/);
  expect(names[1]).toMatch(/^[0-9a-f-]{36}$/);
});

test("a message of 1,024 characters is left whole, and a longer one shows that it was cut", async () => {
  await using rig = new Rig();

  rig.recorder.event(pod, "Normal", "Created", "x".repeat(1_024));
  rig.recorder.event(pod, "Normal", "Created", "x".repeat(1_025));
  await rig.clock.advance(0);

  expect(rig.created.map(({ message }) => message)).toEqual(["x".repeat(1_024), `${"x".repeat(1_023)}…`]);
});

test("events from before the recorder runs are sent when it does, and those from before a run that ends at once as well", async () => {
  for (const isAborted of [false, true]) {
    const { clock, recorder, created } = rigWithoutRun();
    recorder.event(pod, "Normal", "Created", "early");
    const abort = new AbortController();
    if (isAborted) abort.abort();

    const running = recorder.run(abort.signal);
    await clock.advance(0);
    abort.abort();
    await running;

    expect(created.map(({ message }) => message)).toEqual(["early"]);
    expect(clock.pending).toBe(0);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  }
});

test("at the end an API server that does not answer is waited for two seconds, and what is left is counted", async () => {
  const { clock, recorder, counts } = rigWithoutRun((signal) => untilAborted(Promise.withResolvers<never>().promise, signal));
  for (let index = 0; index < 3; index++) recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  let ended = false;
  const running = recorder.run(AbortSignal.abort()).then(() => (ended = true));

  await clock.advance(1_999);
  expect(ended).toBe(false);
  await clock.advance(1);
  await running;

  expect(counts.get("vk_events_failed_total")).toBe(1);
  expect(counts.get("vk_events_dropped_total")).toBe(2);
});

test("what was dropped at the end of a run is not sent by the next", async () => {
  let isAway = true;
  const { clock, recorder, created } = rigWithoutRun((signal) =>
    isAway ? untilAborted(Promise.withResolvers<never>().promise, signal) : Promise.resolve(),
  );
  for (let index = 0; index < 3; index++) recorder.event(podOf(index), "Normal", "Created", `container ${index}`);
  const ended = recorder.run(AbortSignal.abort());
  await clock.advance(2_000);
  await ended;
  isAway = false;
  recorder.event(pod, "Normal", "Created", "new");

  await recorder.run(AbortSignal.abort());

  expect(created.map(({ message }) => message)).toEqual(["new"]);
});

test("a hard end breaks off what is being sent, and sends nothing more", async () => {
  const { clock, recorder, created, counts } = rigWithoutRun((signal) => untilAborted(Promise.withResolvers<never>().promise, signal));
  for (let index = 0; index < 3; index++) recorder.event(pod, "Normal", "Created", `container ${index}`);
  const hard = new AbortController();
  const ended = recorder.run(new AbortController().signal, hard.signal);
  await clock.advance(0);

  hard.abort();
  await ended;

  expect(created).toEqual([]);
  expect(counts.get("vk_events_dropped_total")).toBe(2);
  expect(clock.pending).toBe(0);
});

/** A recorder that does not run yet, on an API that keeps what it is sent once `answer` lets it. */
function rigWithoutRun(answer: (signal: AbortSignal) => Promise<void> = () => Promise.resolve()): {
  readonly clock: VirtualClock;
  readonly recorder: EventRecorder;
  readonly created: CoreEvent[];
  readonly counts: Map<string, number>;
} {
  const clock = new VirtualClock();
  const created: CoreEvent[] = [];
  const counts = new Map<string, number>();
  const client = {
    create: async (_resource: unknown, event: CoreEvent, { signal }: { readonly signal: AbortSignal }) => {
      await answer(signal);
      created.push(event);
      return event;
    },
  };
  const recorder = createEventRecorder({
    client: client as unknown as KubeClient,
    component: "virtual-kubelet",
    host: "node-1",
    clock,
    random: new SeededRandom(1),
    logger: silentLogger,
    metrics: { ...noMetrics, count: (name, _labels, value = 1) => void counts.set(name, (counts.get(name) ?? 0) + value) },
  });
  return { clock, recorder, created, counts };
}

test("while more important writes wait, five events a second are sent, and the others afterwards", async () => {
  await using rig = new Rig();
  rig.waitingWrites = 16;
  for (let index = 0; index < 60; index++) rig.recorder.event(podOf(index), "Normal", "Started", "m");
  await rig.clock.advance(1_999);
  expect(rig.created.length).toBe(10);

  rig.waitingWrites = 15;
  await rig.clock.advance(300);
  expect(rig.created.length).toBe(60);
});

test("no event is lost because more important writes wait all the time", async () => {
  await using rig = new Rig();
  rig.waitingWrites = 16;
  for (let second = 0; second < 100; second++) {
    for (let index = 0; index < 20; index++) rig.recorder.event(podOf(second * 20 + index), "Normal", "Started", "m");
    await rig.clock.advance(1_000);
  }

  expect(rig.recorder.counts.dropped).toBe(0);
  expect(rig.recorder.counts.waiting).toBeGreaterThan(400);
});
