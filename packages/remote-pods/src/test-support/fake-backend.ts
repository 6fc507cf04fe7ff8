import type { Clock, SeededRandom } from "@virtual-kubelet/clock";
import type { ContainerState, NodeDescription } from "@virtual-kubelet/core";
import {
  ConflictError,
  DeadlineExceededError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { noMetrics } from "@virtual-kubelet/kube-client";
import type { BackendLimits } from "../backend/backend-limits.ts";
import type { IdentityReading, Observation, PodIdentity, Progress } from "../backend/observation.ts";
import type { Ending, EndStep, ObserveContext, RemoteBackend, RemoteDescriptions, RemoteListing } from "../backend/remote-backend.ts";
import type { RemoteTarget } from "../backend/remote-target.ts";
import { CallBudget } from "../calls/call-budget.ts";

/** Life of an object's only container, in milliseconds from its creation. */
export interface FakeLife {
  readonly startsAfterMs: number;
  /** Default: it runs until it is ended. */
  readonly endsAfterMs?: number | undefined;
  readonly exitCode?: number | undefined;
  /** Time that the container takes to end when it is asked to. Default: 0. */
  readonly stopMs?: number | undefined;
  /** Whether the pod expects to run again after an end. */
  readonly runsAgain?: boolean | undefined;
}

/** An object of {@link FakeBackend}. */
export interface FakeObject {
  readonly id: string;
  tags: IdentityReading;
  readonly hasOtherName: boolean;
  readonly createdMs: number;
  /** Time from which lists and descriptions show it. */
  readonly visibleMs: number;
  readonly life: FakeLife;
  endsMs: number | undefined;
  removedMs: number | undefined;
}

/** Probabilities of faults, from 0 to 1. */
export interface FakeFaults {
  /** The create is done, and its answer is lost. */
  readonly createLost: number;
  /** The answer is lost, and the create is done some time later. */
  readonly createLate: number;
  readonly createRefused: number;
  readonly createFull: number;
  /** The create fails before anything is done. */
  readonly createUnavailable: number;
  readonly listFails: number;
  readonly listIncomplete: number;
  readonly describeFails: number;
  readonly endFails: number;
  /** The end is done, and its answer is lost. */
  readonly endLost: number;
}

export interface FakeBackendOptions {
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly limits?: Partial<BackendLimits> | undefined;
  /** What lists hold besides ids. Default: all. */
  readonly lists?: { readonly identity?: boolean; readonly remote?: boolean; readonly version?: boolean } | undefined;
  readonly lifeOf?: ((identity: PodIdentity) => FakeLife) | undefined;
  readonly latencyMs?: number | undefined;
}

/** A request that {@link FakeBackend} received. */
export interface FakeCall {
  readonly kind: "create" | "list" | "describe" | "end";
  readonly atMs: number;
  readonly ids: readonly string[];
  readonly uid?: string | undefined;
}

/** A back end in memory, on the time and randomness that a test gives it. */
export class FakeBackend implements RemoteBackend<string, FakeObject> {
  readonly name = "Fake Cloud";
  readonly shortName = "fake";
  readonly limits: BackendLimits;
  readonly objects: Map<string, FakeObject> = new Map();
  readonly calls: FakeCall[] = [];
  /** Rules that were broken by whoever uses the back end. */
  readonly violations: string[] = [];
  faults: Partial<FakeFaults> = {};
  /** Chooses calls that are carried out and never answered, not even when they are aborted. */
  hangs: ((call: FakeCall) => boolean) | undefined;
  settle?: NonNullable<RemoteBackend<string, FakeObject>["settle"]>;
  release?: NonNullable<RemoteBackend<string, FakeObject>["release"]>;
  discardIncomplete?: NonNullable<RemoteBackend<string, FakeObject>["discardIncomplete"]>;
  logSnapshot?: NonNullable<RemoteBackend<string, FakeObject>["logSnapshot"]>;
  watch?: NonNullable<RemoteBackend<string, FakeObject>["watch"]>;
  sweep?: NonNullable<RemoteBackend<string, FakeObject>["sweep"]>;
  readonly idOf?: (identity: PodIdentity) => string;
  readonly #options: FakeBackendOptions;
  readonly #budget: CallBudget;
  readonly #unasked = new Set<string>();
  #serial = 0;

  constructor(options: FakeBackendOptions) {
    this.#options = options;
    this.limits = { rates: {}, describeBatch: 10, idempotency: "name", visibleAfterMs: 0, ...options.limits };
    const { clock, random } = options;
    const { callTimeoutMs } = this.limits;
    this.#budget = new CallBudget({ backEnd: "fake", rates: {}, callTimeoutMs, clock, random, metrics: noMetrics });
    if (this.limits.idempotency === "name") this.idOf = ({ ref: { uid }, attempt }) => `${uid}-${attempt}`;
  }

  async translate(_pod: unknown, _resolved: unknown, identity: PodIdentity): Promise<string> {
    return identity.ref.name;
  }

  identityOf({ tags }: FakeObject): IdentityReading {
    return tags;
  }

  observe(object: FakeObject, { isEnding }: ObserveContext<undefined>): Observation {
    const progress = this.progressOf(object);
    const needsNewObject = progress === "ended" && object.life.runsAgain === true && !isEnding;
    const { exitCode = 0 } = object.life;
    const states: Record<Progress, ContainerState> = {
      starting: { waiting: { reason: "ContainerCreating" } },
      running: { running: { startedAt: undefined } },
      ending: { running: { startedAt: undefined } },
      ended: { terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error" } },
    };
    const finalPhase = needsNewObject ? "Running" : exitCode === 0 ? "Succeeded" : "Failed";
    return {
      progress,
      needsNewObject,
      memory: undefined,
      status: {
        phase: progress === "ended" ? finalPhase : progress === "starting" ? "Pending" : "Running",
        containerStatuses: [
          {
            name: "main",
            image: "app",
            imageID: "",
            restartCount: 0,
            ready: progress === "running",
            state: states[progress],
            ...(progress !== "starting" && { containerID: `fake://${object.id}` }),
          },
        ],
      },
    };
  }

  progressOf({ createdMs, life, endsMs }: FakeObject): Progress {
    const nowMs = this.#nowMs;
    if (endsMs !== undefined && nowMs >= endsMs) return "ended";
    return nowMs < createdMs + life.startsAfterMs ? "starting" : "running";
  }

  async create(_request: string, identity: PodIdentity, signal: AbortSignal): Promise<{ readonly id: string }> {
    const { uid } = identity.ref;
    if (this.#unasked.has(uid)) this.violations.push(`create of ${uid} was repeated without a look`);
    const call = this.#note("create", [], uid);
    await this.#latency(signal);
    if (this.#strikes("createUnavailable")) throw this.#unclear(uid, "create");
    if (this.#strikes("createRefused")) throw new InvalidInputError("spec.containers: refused");
    if (this.#strikes("createFull")) throw new QuotaExceededError("no capacity");
    if (this.#strikes("createLate")) {
      const { clock, random } = this.#options;
      clock.setTimer(random.next() * this.limits.visibleAfterMs * 0.4, () => this.#commit(identity));
      throw this.#unclear(uid, "create");
    }
    const id = this.#commit(identity);
    await this.#hang(call, signal);
    if (this.#strikes("createLost")) throw this.#unclear(uid, "create");
    if (id === undefined) throw new ConflictError(`an object of ${uid} exists already`);
    return { id };
  }

  async list(signal: AbortSignal): Promise<RemoteListing<FakeObject>> {
    const call = this.#note("list", []);
    await this.#latency(signal);
    await this.#hang(call, signal);
    if (this.#strikes("listFails")) throw new UnavailableError("list: no answer");
    const isIncomplete = this.#strikes("listIncomplete");
    if (!isIncomplete) this.#unasked.clear();
    const { identity = true, remote = true, version = true } = this.#options.lists ?? {};
    const visible = [...this.objects.keys()].flatMap((id) => this.#visible(id) ?? []);
    return {
      problems: isIncomplete ? ["page 2 failed"] : [],
      objects: visible
        .filter(() => !isIncomplete || this.#options.random.next() < 0.5)
        .map((object) => ({
          id: object.id,
          hasOtherName: object.hasOtherName,
          createdAt: new Date(Date.UTC(2026, 0, 1) + object.createdMs).toISOString(),
          ...(identity && { identity: object.tags }),
          ...(remote && { remote: { ...object } }),
          ...(version && { version: this.progressOf(object) }),
        })),
    };
  }

  async describe(ids: readonly string[], signal: AbortSignal): Promise<RemoteDescriptions<FakeObject>> {
    const call = this.#note("describe", ids);
    if (ids.length > this.limits.describeBatch) this.violations.push(`describe of ${ids.length} objects`);
    await this.#latency(signal);
    await this.#hang(call, signal);
    if (this.#strikes("describeFails")) throw new UnavailableError("describe: no answer");
    for (const uid of this.#unasked) if (ids.some((id) => id.startsWith(`${uid}-`))) this.#unasked.delete(uid);
    const found = ids.flatMap((id) => this.#visible(id) ?? []).map((object) => ({ id: object.id, remote: { ...object } }));
    const there = new Set(found.map(({ id }) => id));
    return { found, missing: ids.filter((id) => !there.has(id)) };
  }

  async end({ id, identity }: RemoteTarget<FakeObject>, ending: Ending, signal: AbortSignal): Promise<EndStep> {
    const call = this.#note("end", [id], identity.ref.uid);
    await this.#latency(signal);
    const object = this.#visible(id);
    if (!object) throw new NotFoundError(`end ${id}: no such object`);
    if (object.tags.kind !== "pod" || object.hasOtherName) this.violations.push(`end of ${id}, which is somebody else's`);
    if (this.#strikes("endFails")) throw new UnavailableError("end: no answer");
    const step = this.#end(object, ending);
    await this.#hang(call, signal);
    if (this.#strikes("endLost")) throw new DeadlineExceededError("end: the answer was lost");
    return step;
  }

  async ping(): Promise<void> {}

  async configureNode(): Promise<NodeDescription> {
    return {};
  }

  /** Puts an object there as somebody else would: a foreign one, or a copy. */
  put(id: string, tags: IdentityReading, { hasOtherName = false, life = { startsAfterMs: 0 } }: Partial<FakeObject> = {}): FakeObject {
    const nowMs = this.#nowMs;
    const object = { id, tags, hasOtherName, life, createdMs: nowMs, visibleMs: nowMs, endsMs: undefined, removedMs: undefined };
    this.objects.set(id, object);
    return object;
  }

  /** Objects that a pod's creates have made, that still exist and have not ended. */
  liveOf(uid: string): readonly FakeObject[] {
    return this.of(uid).filter((object) => this.progressOf(object) !== "ended");
  }

  /** Objects that a pod's creates have made and that still exist. */
  of(uid: string): readonly FakeObject[] {
    return [...this.objects.keys()]
      .flatMap((id) => this.#existing(id) ?? [])
      .filter(({ tags, hasOtherName }) => tags.kind === "pod" && tags.identity.ref.uid === uid && !hasOtherName);
  }

  #end(object: FakeObject, { graceLeftMs, isDeleted, isAsked }: Ending): EndStep {
    const nowMs = this.#nowMs;
    const hasEnded = this.progressOf(object) === "ended";
    if (isDeleted) return "wait";
    if (!hasEnded && graceLeftMs > 0) {
      if (isAsked) return "wait";
      object.endsMs = Math.min(object.endsMs ?? Number.POSITIVE_INFINITY, nowMs + (object.life.stopMs ?? 0));
      return "asked";
    }
    if (!hasEnded) object.endsMs = nowMs;
    if (this.limits.keepsEndedMs !== undefined) return hasEnded ? "wait" : "killed";
    object.removedMs ??= nowMs + 2_000;
    return "deleted";
  }

  /** @returns `undefined` if the name is taken */
  #commit(identity: PodIdentity): string | undefined {
    const { random, lifeOf = (): FakeLife => ({ startsAfterMs: 1_000 }) } = this.#options;
    const { uid } = identity.ref;
    const { idempotency, visibleAfterMs } = this.limits;
    const same = this.of(uid).find(({ tags }) => tags.kind === "pod" && tags.identity.attempt === identity.attempt);
    if (same && idempotency === "token") return same.id;
    const id = this.idOf?.(identity) ?? `${uid}-${identity.attempt}-${this.#serial++}`;
    if (idempotency === "name" && this.#existing(id)) return undefined;
    if (idempotency !== "none" && this.liveOf(uid).length > 0) this.violations.push(`two live objects of ${uid}`);
    const life = lifeOf(identity);
    const nowMs = this.#nowMs;
    this.objects.set(id, {
      id,
      life,
      tags: { kind: "pod", identity },
      hasOtherName: false,
      createdMs: nowMs,
      visibleMs: nowMs + random.next() * visibleAfterMs * 0.5,
      endsMs: life.endsAfterMs === undefined ? undefined : nowMs + life.endsAfterMs,
      removedMs: undefined,
    });
    return id;
  }

  #existing(id: string): FakeObject | undefined {
    const object = this.objects.get(id);
    const { keepsEndedMs } = this.limits;
    const forgottenMs = object?.endsMs === undefined || keepsEndedMs === undefined ? undefined : object.endsMs + keepsEndedMs;
    const removedMs = Math.min(object?.removedMs ?? Number.POSITIVE_INFINITY, forgottenMs ?? Number.POSITIVE_INFINITY);
    return this.#nowMs >= removedMs ? undefined : object;
  }

  #visible(id: string): FakeObject | undefined {
    const object = this.#existing(id);
    return object && this.#nowMs >= object.visibleMs ? object : undefined;
  }

  #unclear(uid: string, call: string): UnavailableError {
    this.#unasked.add(uid);
    return new UnavailableError(`${call}: the answer was lost`);
  }

  #note(kind: FakeCall["kind"], ids: readonly string[], uid?: string): FakeCall {
    const call = { kind, ids, uid, atMs: this.#nowMs };
    this.calls.push(call);
    return call;
  }

  async #hang(call: FakeCall, signal: AbortSignal): Promise<void> {
    if (!this.hangs?.(call)) return;
    const request = { class: call.kind, operation: call.kind, isIdempotent: true };
    await this.#budget.run(request, signal, () => Promise.withResolvers<never>().promise);
  }

  async #latency(signal: AbortSignal): Promise<void> {
    const { clock, random, latencyMs = 50 } = this.#options;
    await clock.sleep(latencyMs * (0.5 + random.next()), signal);
  }

  #strikes(fault: keyof FakeFaults): boolean {
    return this.#options.random.next() < (this.faults[fault] ?? 0);
  }

  get #nowMs(): number {
    return this.#options.clock.monotonic();
  }
}
