import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import {
  ConcurrencyLimit,
  noMetrics,
  noTracer,
  resources,
  silentLogger,
  type Pod,
  type PodStatus,
  type Store,
} from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { podRef } from "../../provider/pod-ref.ts";
import { FakeKubeClient } from "../../test-support/fake-kube-client.ts";
import { newPodState, type PodState } from "../state/pod-state.ts";
import { StatusWriter } from "./status-writer.ts";

/** A writer on a Kubernetes API in memory, whose store has what the test gives it. */
class Rig implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  readonly uid: string;
  stored: Pod;
  state: PodState;
  /** The status that the pod should have. */
  wanted: PodStatus = { phase: "Running", startTime: "2026-01-01T00:00:00Z" };
  /** Number of times that it was asked for. */
  derived = 0;
  readonly #writer: StatusWriter;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor() {
    this.stored = this.client.put(resources.pods, { metadata: { namespace: "default", name: "web" }, spec: { containers: [] } });
    this.state = newPodState(podRef(this.stored), 0);
    this.uid = this.state.ref.uid;
    const store: Store<Pod> = {
      size: 1,
      get: () => this.stored,
      getByName: () => this.stored,
      list: () => [this.stored].values(),
      subscribe: () => ({ [Symbol.dispose]() {} }),
    };
    this.#writer = new StatusWriter({
      client: this.client,
      store,
      state: () => this.state,
      wanted: () => {
        this.derived++;
        return this.wanted;
      },
      clock: this.clock,
      random: new SeededRandom(1),
      logger: silentLogger,
      metrics: noMetrics,
      tracer: noTracer,
      limit: new ConcurrencyLimit(1),
    });
    this.#running = this.#writer.run(this.#stop.signal);
  }

  touch(): void {
    this.#writer.mark(this.uid);
  }

  /** Marks the pod. @returns how often its status was derived because of that */
  async mark(): Promise<number> {
    const before = this.derived;
    this.touch();
    for (let turn = 0; turn < 5; turn++) await this.clock.advance(0);
    return this.derived - before;
  }

  /** The watch delivers the pod as the API server has it, changed by somebody else if a change is given. */
  deliver(change: (pod: Pod) => void = () => {}): void {
    const pod = structuredClone(this.client.peek(resources.pods, "web", "default") ?? {});
    change(pod);
    this.stored = pod;
  }

  get patches(): number {
    return this.client.callsOf("patch", "pods", "status").length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

test("the watch's event of a write costs nothing: no status is derived, and none is compared", async () => {
  await using rig = new Rig();
  expect([await rig.mark(), rig.patches]).toEqual([1, 1]);

  rig.deliver();
  expect([await rig.mark(), rig.patches]).toEqual([0, 1]);
  // Without the answer, which is forgotten then, the object is compared as any other.
  expect([await rig.mark(), rig.patches]).toEqual([1, 1]);
});

test("an event of a write is compared if the pod has another state since", async () => {
  await using rig = new Rig();
  await rig.mark();
  rig.state = { ...rig.state, verdict: { kind: "rejected", reason: "OutOfpods", message: "" } };
  rig.wanted = { ...rig.wanted, phase: "Failed" };

  rig.deliver();

  expect([await rig.mark(), rig.patches]).toEqual([1, 2]);
});

test("an event of a write whose status the API server changed is compared", async () => {
  await using rig = new Rig();
  await rig.mark();

  rig.deliver(({ status = {} }) => delete status.startTime);

  expect(await rig.mark()).toBe(1);
});

test("an event of another's write is compared", async () => {
  await using rig = new Rig();
  await rig.mark();
  await rig.client.patch(
    resources.pods,
    { namespace: "default", name: "web" },
    { type: "merge", body: { status: { startTime: "2026-01-01T00:00:07Z" } } },
    { subresource: "status", signal: new AbortController().signal },
  );

  rig.deliver();

  expect([await rig.mark(), rig.patches]).toEqual([1, 3]);
});

test.for([
  ["status", ({ status = {} }: Pod): void => void (status.reason = "Other")],
  ["spec", ({ spec }: Pod): void => void (spec && (spec.ephemeralContainers = [{ name: "debug" }]))],
] as const)("an event of a write that came upon another's change of the %s is compared", async ([, change]) => {
  await using rig = new Rig();
  await rig.mark();
  rig.deliver();
  await rig.mark();
  rig.wanted = { ...rig.wanted, message: "more" };
  let isChanged = false;
  using _ = rig.client.intercept(({ verb }) => {
    if (verb !== "patch" || isChanged) return;
    isChanged = true;
    rig.client.edit(resources.pods, "web", change, "default");
  });
  expect(await rig.mark()).toBe(1);

  // The store has both changes at once.
  rig.deliver();

  expect(await rig.mark()).toBe(1);
  const { reason, message } = rig.client.peek<Pod>(resources.pods, "web", "default")?.status ?? {};
  expect({ reason, message }).toEqual({ reason: undefined, message: "more" });
});

test("what happens to a pod in one turn of the event loop is one status", async () => {
  await using rig = new Rig();
  rig.wanted = { ...rig.wanted, phase: "Pending" };
  rig.touch();
  await Promise.resolve();
  rig.wanted = { ...rig.wanted, phase: "Running" };

  expect([await rig.mark(), rig.patches]).toEqual([1, 1]);
  expect(rig.client.peek<Pod>(resources.pods, "web", "default")?.status?.phase).toBe("Running");
});

test("an event of a write of a deleted pod does not keep the pod from being removed", async () => {
  await using rig = new Rig();
  const deletes = (): number => rig.client.callsOf("delete", "pods").length;
  rig.deliver(({ metadata = {} }) => Object.assign(metadata, { deletionTimestamp: "2026-01-01T00:00:30Z" }));
  rig.state = { ...rig.state, deletion: { graceSeconds: 30, deadlineMs: 30_000 }, backend: { kind: "gone" } };
  rig.wanted = { ...rig.wanted, phase: "Succeeded" };
  let fails = true;
  using _ = rig.client.intercept(({ verb }) => {
    if (verb === "delete" && fails) throw new Error("no answer");
  });
  await rig.mark();
  expect([deletes(), rig.patches]).toEqual([1, 1]);

  fails = false;
  rig.deliver(({ metadata = {} }) => Object.assign(metadata, { deletionTimestamp: "2026-01-01T00:00:30Z" }));
  await rig.mark();

  expect([deletes(), rig.patches]).toEqual([2, 1]);
});

test("the event of a removed pod's last status costs nothing, whatever the pod's state is by then", async () => {
  await using rig = new Rig();
  const deleted = ({ metadata = {} }: Pod): void => void Object.assign(metadata, { deletionTimestamp: "2026-01-01T00:00:30Z" });
  rig.deliver(deleted);
  rig.state = { ...rig.state, deletion: { graceSeconds: 30, deadlineMs: 30_000 }, backend: { kind: "gone" } };
  rig.wanted = { ...rig.wanted, phase: "Succeeded" };
  let last: Pod = {};
  using _ = rig.client.intercept(({ verb }) => {
    if (verb === "delete") last = rig.client.peek<Pod>(resources.pods, "web", "default") ?? {};
  });
  await rig.mark();
  expect(last.status?.phase).toBe("Succeeded");

  deleted(last);
  rig.stored = last;
  rig.state = { ...rig.state, teardown: rig.state.deletion };
  expect([await rig.mark(), rig.client.callsOf("delete", "pods").length, rig.patches]).toEqual([0, 1, 1]);
});
