import { systemClock, systemRandom, type Clock } from "@virtual-kubelet/clock";
import {
  changedParts,
  podRef,
  type AttachIO,
  type ContainerLogOptions,
  type ContainerLogs,
  type DeepReadonly,
  type Pod,
  type PodRef,
  type PodUpdate,
  type Provider,
  type ProviderPodStatus,
  type Secret,
} from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { finished } from "node:stream/promises";
import { eventually, type EventuallyOptions } from "../eventually.ts";
import { CallWatch, overdue } from "./call-watch.ts";
import { changedField } from "./changed-field.ts";
import type { Fixtures } from "./fixtures.ts";
import type { ConformanceOptions, ConformanceTimeouts } from "./options.ts";
import { makePod, type PlannedPod } from "./planned-pod.ts";
import { shellPrograms } from "./programs.ts";
import { StatusWatch } from "./status-watch.ts";
import { SuiteHost, textOf } from "./suite-host.ts";
import assert from "node:assert/strict";

/** The context of a check: a provider, the pods created there, and their updates. Disposing deletes the pods. */
export class ProviderRig implements AsyncDisposable {
  readonly options: ConformanceOptions;
  readonly clock: Clock;
  readonly timeouts: Readonly<Required<Record<keyof ConformanceTimeouts, number>>>;
  /** Secret value that pods receive; it must not appear anywhere else. */
  readonly canary: string;
  readonly updates: PodUpdate[] = [];
  provider: Provider;
  /** The provider without the tracking of calls. */
  #bare: Provider;
  readonly #watch: CallWatch;
  #host: SuiteHost;
  readonly #fixtures: Fixtures;
  readonly #pods = new Map<string, DeepReadonly<Pod>>();
  /** Pods as they were handed to the provider, and copies from before. */
  readonly #given: { readonly call: string; readonly pod: DeepReadonly<Pod>; readonly before: DeepReadonly<Pod> }[] = [];
  readonly #statuses = new StatusWatch();
  readonly #nodeName: string | undefined;
  readonly #over = new AbortController();

  private constructor(options: ConformanceOptions, nodeName: string | undefined) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.timeouts = timeoutsOf(options);
    this.#watch = new CallWatch({ clock: this.clock, limitMs: this.timeouts.callMs });
    this.canary = `canary-${systemRandom.uuid()}`;
    this.#nodeName = nodeName;
    this.#fixtures = fixturesWith(this.canary);
    this.#host = this.#newHost();
    this.#bare = notOpened;
    this.provider = notOpened;
  }

  /**
   * Makes a provider and listens to it.
   *
   * @param nodeName - default: the suite's node
   */
  static async open(options: ConformanceOptions, nodeName?: string): Promise<ProviderRig> {
    const rig = new ProviderRig(options, nodeName);
    await rig.#create();
    return rig;
  }

  /** What the node is called. */
  get nodeName(): string {
    return this.#host.host.nodeName;
  }

  /** Aborts when the check is over and its pods are about to be deleted. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Runs the check; fails at once when a call does not return in time or the check takes longer than `checkMs`. After a failure
   * all further calls of the check are refused.
   */
  async work(run: () => Promise<void>): Promise<void> {
    const { checkMs } = this.timeouts;
    using _timer = this.clock.setTimer(checkMs, () => {
      const calls = this.#watch.underWay();
      const open = calls.length === 0 ? "no call of the provider was under way" : `still under way: ${calls.join("; ")}`;
      this.#watch.stop(new Error(`the check has not ended within ${checkMs} ms; ${open}`));
    });
    const work = run();
    // An error after the time-out is ignored.
    work.catch(() => {});
    try {
      await Promise.race([work, this.#watch.failed]);
    } finally {
      this.#watch.stop(new Error("the check is over"));
    }
  }

  /** Returns the pod as the API server would deliver it. */
  plan(planned: PlannedPod = {}): Pod {
    const { programs = shellPrograms() } = this.options;
    return makePod(planned, { programs, nodeName: this.nodeName, nowMs: this.clock.now(), uid: systemRandom.uuid() });
  }

  /** Creates a pod, which is deleted at the end. */
  async create(planned: PlannedPod | Pod = {}, signal: AbortSignal = this.signal): Promise<PodRef> {
    const pod = "metadata" in planned ? planned : this.plan(planned as PlannedPod);
    const ref = podRef(pod);
    this.#pods.set(ref.uid, pod);
    this.#given.push({ call: "createPod", pod, before: structuredClone(pod) });
    await this.within("createPod", this.provider.createPod(pod, this.#host.know(pod), signal));
    return ref;
  }

  /** Creates a pod and waits until it runs. */
  async run(planned: PlannedPod | Pod = {}): Promise<PodRef> {
    const ref = await this.create(planned);
    await this.untilStatus(ref, "to run", ({ phase, containerStatuses = [] }) => {
      assert.equal(phase, "Running");
      assert.ok(containerStatuses.every(({ state, lastState }) => state?.running !== undefined || lastState?.terminated !== undefined));
    });
    return ref;
  }

  /** Creates a pod and waits until it has started; a pod that exits by itself may have exited by then. */
  async start(planned: PlannedPod = {}): Promise<PodRef> {
    const ref = await this.create(planned);
    await this.untilStatus(ref, "to have begun", ({ containerStatuses = [] }) => {
      assert.ok(containerStatuses.length > 0 && containerStatuses.every(({ state }) => state?.running ?? state?.terminated));
    });
    return ref;
  }

  /** Creates a pod that ignores the request to stop, and waits until its program has set that up. */
  async runStubborn(planned: PlannedPod = {}): Promise<PodRef> {
    const ref = await this.run({ ...planned, containers: [{ program: { kind: "ignore-end" } }] });
    await this.clock.sleep(stubbornAfterMs);
    return ref;
  }

  /** The pod as it was planned, with something changed. */
  async update(ref: PodRef, change: (pod: Pod) => void): Promise<void> {
    const previous = this.#pods.get(ref.uid);
    const pod = structuredClone(previous) as Pod;
    change(pod);
    this.#pods.set(ref.uid, pod);
    this.#given.push({ call: "updatePod", pod, before: structuredClone(pod) });
    await this.within(
      "updatePod",
      this.provider.updatePod(pod, this.#host.know(pod), this.signal, { previous, parts: previous ? changedParts(previous, pod) : [] }),
    );
  }

  /** Deletes a pod; a missing pod counts as deleted. */
  delete(ref: PodRef, gracePeriodSeconds: number, signal: AbortSignal = this.signal): Promise<void> {
    return this.#delete(this.provider, ref, gracePeriodSeconds, signal);
  }

  async #delete(provider: Provider, ref: PodRef, gracePeriodSeconds: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#limited("deletePod", provider.deletePod(ref, { gracePeriodSeconds }, signal));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Current result of `getPodStatus`. */
  async status(ref: PodRef): Promise<ProviderPodStatus> {
    const status = await this.within("getPodStatus", this.provider.getPodStatus(ref, this.signal));
    this.#statuses.note(this.#pods.get(ref.uid), status, "asked");
    return status;
  }

  /** Waits until the pod's status passes the function. */
  untilStatus(
    ref: PodRef,
    what: string,
    check: (status: ProviderPodStatus) => void,
    timeoutMs: number = this.timeouts.startMs,
  ): Promise<ProviderPodStatus> {
    return this.eventually(
      async () => {
        const status = await this.status(ref);
        check(status);
        return status;
      },
      { timeoutMs, describe: `pod ${ref.name} ${what}` },
    );
  }

  /** Waits until every container of the pod has ended, and returns the status. */
  untilEnded(ref: PodRef): Promise<ProviderPodStatus> {
    return this.untilStatus(
      ref,
      "to end",
      ({ phase, containerStatuses = [] }) => {
        assert.ok(phase === "Succeeded" || phase === "Failed", `phase is ${phase}`);
        assert.ok(containerStatuses.every(({ state }) => state?.terminated));
      },
      this.timeouts.startMs + this.timeouts.endMs,
    );
  }

  /** Waits until the back end holds no such pod. */
  untilGone(ref: PodRef, timeoutMs: number = this.timeouts.endMs): Promise<void> {
    return this.#untilGone(this.provider, ref, { timeoutMs, signal: this.signal });
  }

  async #untilGone(
    provider: Provider,
    ref: PodRef,
    { timeoutMs, signal, onFound }: { readonly timeoutMs: number; readonly signal: AbortSignal; readonly onFound?: () => Promise<void> },
  ): Promise<void> {
    let looks = 0;
    await eventually(
      async () => {
        const found = await this.#limited("getPod", provider.getPod(ref, signal)).catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
        if (found && ++looks % looksBetweenDeletions === 0) await onFound?.();
        assert.equal(found, undefined, `the back end still holds it: ${JSON.stringify(found?.status.phase)}`);
      },
      { timeoutMs, describe: `pod ${ref.name} to be gone`, clock: this.clock, signal },
    );
    this.#pods.delete(ref.uid);
    this.#statuses.forget(ref.uid);
  }

  /** UIDs of the suite's pods in the inventory. */
  async inventory(): Promise<{ readonly uids: readonly string[]; readonly complete: boolean }> {
    const list = this.within("getPods", this.provider.getPods(this.signal));
    const { pods, complete } = await list.catch((error: unknown) => {
      throw new Error("getPods must list the pods", { cause: error });
    });
    return { uids: pods.map(({ ref }) => ref.uid), complete };
  }

  /** Updates of the pod that the provider reported, in order. */
  told(ref: PodRef): PodUpdate[] {
    return this.updates.filter((update) => update.ref.uid === ref.uid);
  }

  /** Reads a container's logs as the node's server does, which removes unrequested timestamps. */
  async logs(
    ref: PodRef,
    options: Partial<ContainerLogOptions> & { readonly container?: string } = {},
    signal: AbortSignal = this.signal,
  ): Promise<string> {
    const { container = "main", ...rest } = options;
    const wanted: ContainerLogOptions = { follow: false, previous: false, timestamps: false, ...rest };
    assert.ok(this.provider.getContainerLogs);
    const logs = await this.within("getContainerLogs", this.provider.getContainerLogs(ref, container, wanted, signal));
    const text = wanted.follow ? await readLog(logs) : await this.within("the end of a log that is not followed", readLog(logs));
    return logs.timestamps === true ? text.replace(/^\S+ /gm, "") : text;
  }

  /** Runs a command in a container and waits for all of its output. */
  async exec(ref: PodRef, command: readonly string[], io: Partial<AttachIO> = {}, container = "main"): Promise<number> {
    assert.ok(this.provider.runInContainer);
    const streams = { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: noSizes(), ...io };
    const call = this.provider.runInContainer(ref, container, command, streams, this.signal);
    const { exitCode } = await this.within(`runInContainer ${command.join(" ")}`, call, 10 * this.timeouts.callMs);
    for (const stream of [streams.stdout, streams.stderr]) {
      if (!stream) continue;
      stream.end();
      await this.within("the output's end", finished(stream));
    }
    return exitCode;
  }

  /** Simulates a restart of the program: disposes the provider and creates a new one. */
  async restart(): Promise<void> {
    await this.provider[Symbol.asyncDispose]?.();
    const before = this.#host.shown;
    this.#host = this.#newHost();
    this.#host.shown.push(...before);
    for (const pod of this.#pods.values()) this.#host.know(pod);
    await this.#create();
  }

  /** Tries until the function returns without throwing, on the rig's clock and until the check is over. */
  eventually<T>(check: () => T | Promise<T>, options: Omit<EventuallyOptions, "clock" | "signal">): Promise<T> {
    return eventually(check, { ...options, clock: this.clock, signal: this.signal });
  }

  /** Fails unless the promise settles in time, and before the check is over. */
  within<T>(what: string, work: Promise<T>, timeoutMs: number = this.timeouts.callMs): Promise<T> {
    return this.#limited(what, Promise.race([work, this.#watch.failed]), timeoutMs);
  }

  async #limited<T>(what: string, work: Promise<T>, timeoutMs: number = this.timeouts.callMs): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    using _timer = this.clock.setTimer(timeoutMs, () => reject(overdue(what, timeoutMs)));
    // Awaited here: the timer lives as long as this block.
    return await Promise.race([work, promise]);
  }

  /** Problems that any check may reveal: invalid statuses, changed arguments, leaked secrets. */
  problems(): string[] {
    const shown = this.#host.shown.filter((line) => line.includes(this.canary));
    const told = this.updates.filter((update) => textOf(update).includes(this.canary));
    const changed = this.#given.flatMap(({ call, pod, before }) => {
      const path = changedField(before, pod);
      return path === undefined ? [] : [`the pod that ${call} was given is the core's own, and the provider changed its ${path}`];
    });
    return [
      ...this.#statuses.problems(),
      ...new Set(changed),
      ...(shown.length > 0 ? ["what a pod was given in confidence is in the log or in a metric's label"] : []),
      ...(told.length > 0 ? ["what a pod was given in confidence is in a report on a pod"] : []),
    ];
  }

  /** Deletes the pods, waits until they are gone, and disposes the provider. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error("the check is over"));
    const refs = [...this.#pods.values()].map(podRef);
    const { signal } = new AbortController();
    try {
      const remove = (ref: PodRef): Promise<void> => this.#delete(this.#bare, ref, 0, signal);
      await Promise.all(refs.map(remove));
      // An aborted creation may take effect after the deletion of its pod. Like core, this deletes what appears then.
      const deadline = { timeoutMs: this.timeouts.endMs, signal };
      await Promise.all(refs.map((ref) => this.#untilGone(this.#bare, ref, { ...deadline, onFound: () => remove(ref) })));
    } finally {
      await this.#limited("[Symbol.asyncDispose]", Promise.resolve(this.#bare[Symbol.asyncDispose]?.()));
    }
  }

  #newHost(): SuiteHost {
    return new SuiteHost({ clock: this.clock, fixtures: this.#fixtures, nodeName: this.#nodeName });
  }

  async #create(): Promise<void> {
    const { provider: definition, config } = this.options;
    const parsed = definition.configSchema.safeParse(config ?? {});
    if (!parsed.success)
      throw new Error(`config of the suite: ${parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}`);
    this.#bare = await this.#limited("create", Promise.resolve(definition.create(this.#host.host, parsed.data)));
    this.provider = this.#watch.watch(this.#bare);
    this.#bare.notifyPods?.((update) => this.#hear(update));
  }

  #hear(update: PodUpdate): void {
    const copy = structuredClone(update);
    this.updates.push(copy);
    if ("status" in copy) this.#statuses.note(this.#pods.get(copy.ref.uid), copy.status, "told");
  }
}

/** Number of reads of a deleted pod before it is deleted again. */
const looksBetweenDeletions = 20;

/** Time for a shell to start and ignore a signal, with reserve for a busy machine. */
const stubbornAfterMs = 2000;

const notOpened = {} as Provider;

/** Reads a log to its end. */
export async function readLog({ data, live }: ContainerLogs): Promise<string> {
  const chunks: Buffer[] = [];
  for (const stream of [data, live]) for await (const chunk of stream ?? []) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}

/** The options' time-outs, with the defaults. */
export function timeoutsOf({ timeouts = {} }: ConformanceOptions): ProviderRig["timeouts"] {
  const { startMs = 30_000, endMs = 30_000, callMs = 15_000, checkMs = 300_000 } = timeouts;
  return { startMs, endMs, callMs, checkMs };
}

/** No terminal. */
async function* noSizes(): AsyncGenerator<never, void, undefined> {}

function fixturesWith(canary: string): Fixtures {
  // As from an API server: a provider may tell versions of an object by these.
  const metadata = (name: string): NonNullable<Secret["metadata"]> => ({
    namespace: "conformance",
    name,
    uid: systemRandom.uuid(),
    resourceVersion: "1",
  });
  return {
    secrets: new Map([
      ["conformance/confidential", { metadata: metadata("confidential"), data: { password: Buffer.from(canary).toString("base64") } }],
    ]),
    configMaps: new Map([["conformance/settings", { metadata: metadata("settings"), data: { colour: "blue", shape: "round" } }]]),
  };
}
