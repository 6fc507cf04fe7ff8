import { ForbiddenError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { KubeClient } from "./client.ts";
import { createEventRecorder, type EventRecorder } from "./event-recorder.ts";
import { FakeClock, SeededRandom } from "./fake-clock.ts";
import { silentLogger } from "./logger.ts";
import type { CoreEvent } from "./objects.ts";

const pod = { apiVersion: "v1", kind: "Pod", namespace: "apps", name: "web", uid: "u1" };

/** A recorder that runs on an API that keeps what it is sent. */
class Rig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly created: CoreEvent[] = [];
  readonly patches: unknown[] = [];
  readonly counts = new Map<string, number>();
  readonly recorder: EventRecorder;
  fail: ((verb: "create" | "patch") => void) | undefined;
  hold: Promise<void> | undefined;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor() {
    const client = {
      create: async (_resource: unknown, event: CoreEvent) => {
        this.fail?.("create");
        await this.hold;
        this.created.push(event);
        return event;
      },
      patch: async (_resource: unknown, _name: unknown, patch: { readonly body: unknown }) => {
        this.fail?.("patch");
        this.patches.push(patch.body);
      },
    };
    this.recorder = createEventRecorder({
      client: client as unknown as KubeClient,
      component: "virtual-kubelet",
      host: "node-1",
      clock: this.clock,
      random: new SeededRandom(1),
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
  for (let index = 0; index < 300; index++) rig.recorder.event(pod, "Normal", "Created", `container ${index}`);

  await rig.clock.advance(0);
  expect(rig.created).toHaveLength(100);
  await rig.clock.advance(1_000);
  expect(rig.created).toHaveLength(150);
  await rig.clock.advance(3_000);
  expect(rig.created).toHaveLength(300);
});

test("more than a thousand waiting are dropped and counted", async () => {
  await using rig = new Rig();

  for (let index = 0; index < 1_500; index++) rig.recorder.event(pod, "Normal", "Created", `container ${index}`);

  expect(rig.counts.get("vk_events_dropped_total")).toBe(500);
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
  for (let index = 0; index < 3; index++) rig.recorder.event(pod, "Normal", "Created", `container ${index}`);
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
  for (let index = 0; index < 120; index++) rig.recorder.event(pod, "Normal", "Created", `container ${index}`);
  await rig.clock.advance(0);

  await rig[Symbol.asyncDispose]();

  expect(rig.created).toHaveLength(120);
});
