import {
  podRef,
  type Capabilities,
  type Clock,
  type DeepReadonly,
  type DeletePodOptions,
  type NodeDescription,
  type Owner,
  type Pod,
  type PodRef,
  type PodUpdate,
  type Provider,
  type ProviderPod,
  type ProviderPodList,
  type ProviderPodStatus,
  type ResolvedPod,
} from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { BackEnd } from "./back-end.ts";
import type { Chance } from "./chance.ts";
import { statusOf, type Instance, type StatusStyle } from "./instance.ts";
import type { Trace } from "./trace.ts";

/** How calls to the back end go. Durations are in milliseconds. */
export interface ProviderProfile {
  /** Whether it says how pods go, or is polled. */
  readonly notifies: boolean;
  /** Longest way there, and back. */
  readonly latencyMs: number;
  /** How long a new instance may be missing from lists. */
  readonly listLagMs: number;
  /** Longest way back of a list, besides {@link latencyMs}; it tells what was true before. */
  readonly listAnswerMs: number;
  /** Share of the pods that a list lacks although it says that it is complete, as one does that is read from a replica. */
  readonly listGaps: number;
  /** Share of calls that fail before anything happens. */
  readonly errors: number;
  /** Share of calls that are carried out and then fail. */
  readonly lostAnswers: number;
  /** Share of calls that do not come back. */
  readonly hangs: number;
  /** Share of the hanging calls that heed their signal. */
  readonly heedsSignal: number;
  /** How long a call hangs at the longest. */
  readonly longestHangMs: number;
  /** Share of the questions that do not come back. */
  readonly readHangs: number;
  /** Share of the calls that are refused for now, with the time after which to come again. */
  readonly throttles: number;
  /** How long a refused caller is asked to stay away. */
  readonly retryAfterMs: number;
  /** Share of the calls that fail because something else is not found. */
  readonly strayNotFound: number;
  /** Share of the answers and reports that are malformed, or about another pod. */
  readonly wrongAnswers: number;
  /** Share of the lists that lack some pods, and say so. */
  readonly partialLists: number;
  readonly style: StatusStyle;
}

/** A call that changes something. */
export type ChangeMethod = "createPod" | "updatePod" | "deletePod";

/** Faults of the connection to the back end. */
export interface Reachability {
  /** Whether it answers at all. */
  isUp: boolean;
  /** Whether calls go wrong as the profile says. */
  hasFaults: boolean;
  /** When it was last not to be reached, in monotonic milliseconds. */
  downMs: number;
  /** Calls that all fail for now. */
  readonly refused: Set<ChangeMethod>;
  /** How many of the next lists lack some pods, and say so. */
  partialLists: number;
  /** Whether creations hang for pods whose label says so; see {@link stuckLabel}. */
  isStuck: boolean;
}

/** Label of a pod whose creation hangs as long as {@link Reachability.isStuck} says so. */
export const stuckLabel = "simulation/stuck";

/** Options of a {@link ModelProvider}. */
export interface ModelProviderOptions {
  readonly backEnd: BackEnd;
  readonly owner: Owner;
  readonly profile: ProviderProfile;
  readonly reachability: Reachability;
  /** The program's. */
  readonly clock: Clock;
  /** What hangs and heeds no signal hangs on this: it is the back end's library's, and dies with the program. */
  readonly libraryClock: Clock;
  /** The cloud's: what the back end does, it does also when the program is gone. */
  readonly cloudClock: Clock;
  readonly chance: Chance;
  readonly trace: Trace;
  readonly watch: CallWatch;
  /** Whether the program is gone. */
  readonly isGone: () => boolean;
}

/** Told of each call of one program that changes something. */
export interface CallWatch {
  /** @param graceSeconds - of a deletePod */
  onCall(method: ChangeMethod, ref: PodRef, graceSeconds: number | undefined): void;
  onCallEnd(method: ChangeMethod, ref: PodRef): void;
  /** The back end carries the call out. */
  onEffect(method: ChangeMethod, ref: PodRef): void;
  /** The provider has reported a pod. @param hasEnded - whether nothing of it runs or will run again */
  onReport(ref: PodRef, hasEnded: boolean): void;
  /** A container is given its environment. */
  onEnvironment(ref: PodRef, names: readonly string[]): void;
}

/** Capabilities of the model provider. */
export const capabilities: Capabilities = {
  env: true,
  initContainers: true,
  multipleContainers: true,
  restarts: true,
  sidecarContainers: true,
  volumes: ["emptyDir", "projected"],
};

/** A provider whose back end is slow, fails, loses answers and hangs, as the seed has it. */
export class ModelProvider implements Provider {
  readonly #options: ModelProviderOptions;
  #listener: ((update: PodUpdate) => void) | undefined;
  notifyPods?: (listener: (update: PodUpdate) => void) => void;

  constructor(options: ModelProviderOptions) {
    this.#options = options;
    if (options.profile.notifies) this.notifyPods = (listener) => void (this.#listener = listener);
  }

  /** The back end's side of a notification; the program must be alive. */
  notify(instance: Instance, isRemoved: boolean): void {
    const { chance, profile, reachability } = this.#options;
    const { ref } = instance;
    if (!this.#listener) return;
    // A malformed report comes besides the right one: nothing else would tell of the change.
    if (reachability.hasFaults && chance.happens(profile.wrongAnswers)) this.#listener(wrongReport(ref, chance));
    this.#listener(isRemoved ? { ref, gone: true } : { ref, status: this.#statusOf(instance) });
    if (!isRemoved) this.#options.watch.onReport(ref, instance.state.kind === "ended");
  }

  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const { backEnd, owner } = this.#options;
    const ref = podRef(pod);
    await this.#change("createPod", ref, { signal, isStuck: pod.metadata?.labels?.[stuckLabel] !== undefined }, async (perform) => {
      for (const { name } of pod.spec?.containers ?? []) {
        const environment = await resolved.environment(name, signal);
        this.#options.watch.onEnvironment(
          ref,
          environment.map((variable) => variable.name),
        );
      }
      // Without an idempotency token a provider looks first, and makes an instance if it found none.
      const found = backEnd.of(ref.uid).length > 0;
      await perform((isLate) => found || backEnd.create(pod, owner, isLate));
    });
  }

  async updatePod(pod: DeepReadonly<Pod>, _resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const { backEnd } = this.#options;
    const ref = podRef(pod);
    const call = backEnd.nextCall();
    await this.#change("updatePod", ref, { signal }, async (perform) => {
      await perform(() => {
        this.#instance(ref);
        backEnd.update(pod, call);
      });
    });
  }

  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    const { backEnd } = this.#options;
    await this.#change("deletePod", ref, { signal, graceSeconds: gracePeriodSeconds }, async (perform) => {
      await perform(() => {
        this.#instance(ref);
        backEnd.stop(ref.uid, gracePeriodSeconds);
      });
    });
  }

  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    const { chance, profile, reachability } = this.#options;
    await this.#read(signal);
    const pod = this.#toProviderPod(this.#instance(ref));
    await this.#travel(signal);
    return reachability.hasFaults && chance.happens(profile.wrongAnswers) ? wrongPod(pod, chance) : pod;
  }

  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    const pod = await this.getPod(ref, signal);
    // Of a status alone nobody could see that it is another pod's.
    if (pod.ref.uid !== ref.uid) throw this.#error("read: the back end answers with another pod");
    return pod.status;
  }

  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    const { backEnd, chance, clock, profile, reachability, trace, cloudClock } = this.#options;
    await this.#read(signal);
    const isWrong = reachability.hasFaults && chance.happens(profile.wrongAnswers);
    const nowMs = cloudClock.monotonic();
    const gaps = reachability.hasFaults ? profile.listGaps : 0;
    const listed = backEnd.list().filter(({ createdMs }) => nowMs - createdMs >= profile.listLagMs && !(gaps > 0 && chance.happens(gaps)));
    const isCut = reachability.partialLists > 0;
    if (isCut) reachability.partialLists--;
    const complete = !(reachability.hasFaults && chance.happens(profile.partialLists)) && !isCut;
    const pods = listed.filter(() => complete || chance.happens(0.5)).map((instance) => this.#toProviderPod(instance));
    if (!complete) trace.add("provider: a partial list of", pods.length, "of", listed.length);
    await this.#travel(signal);
    if (profile.listAnswerMs > 0) await clock.sleep(chance.between(profile.listAnswerMs / 4, profile.listAnswerMs), signal);
    const [first, ...rest] = pods;
    return { pods: isWrong && first ? [wrongPod(first, chance), ...rest] : pods, complete };
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#travel(signal);
    if (!this.#options.reachability.isUp) throw new UnavailableError("ping the back end: it is down");
  }

  configureNode(): Promise<NodeDescription> {
    return Promise.resolve({
      capacity: { cpu: "1000", memory: "10Ti", pods: "2000" },
      addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
    });
  }

  /** A call that changes something: it may fail before or after it is carried out, or hang, and be carried out late. */
  async #change(
    method: ChangeMethod,
    ref: PodRef,
    { signal, graceSeconds, isStuck = false }: { signal: AbortSignal; graceSeconds?: number; isStuck?: boolean },
    call: (perform: (effect: (isLate: boolean) => unknown) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { watch, trace, profile, chance, reachability } = this.#options;
    watch.onCall(method, ref, graceSeconds);
    trace.add("provider:", method, ref.name, ref.uid, graceSeconds === undefined ? "" : `${graceSeconds} s`);
    let outcome = "ok";
    const pending: Pending = { isPending: true };
    try {
      await call(async (effect) => {
        await this.#travel(signal);
        this.#checkUp(method);
        if (isStuck && reachability.isStuck) await this.#options.clock.sleep(stuckMs, signal);
        const faults = reachability.hasFaults;
        if (faults && chance.happens(profile.errors)) throw this.#error(`${method}: the back end is overloaded`);
        if (faults && chance.happens(profile.throttles))
          throw new UnavailableError(`${method}: too many requests`, { retryAfterMs: profile.retryAfterMs });
        if (faults && chance.happens(profile.strayNotFound))
          throw new NotFoundError(`${method}: the account's key is not found; the pod has nothing to do with it`);
        if (faults && chance.happens(profile.hangs)) return this.#hang(method, ref, { signal, effect, pending });
        watch.onEffect(method, ref);
        effect(false);
        if (faults && chance.happens(profile.lostAnswers)) throw this.#error(`${method}: the connection broke`);
        await this.#travel(signal);
      });
    } catch (error) {
      outcome = error instanceof Error ? error.message : String(error);
      throw error;
    } finally {
      pending.isPending = false;
      trace.add("provider:", method, ref.name, ref.uid, "ended:", outcome);
      watch.onCallEnd(method, ref);
    }
  }

  /**
   * Does not come back before its time; the back end may carry the call out meanwhile, or never. A call that is deaf to its
   * signal may come back well, long after it was given up.
   */
  async #hang(
    method: ChangeMethod,
    ref: PodRef,
    { signal, effect, pending }: { signal: AbortSignal; effect: (isLate: boolean) => unknown; pending: Pending },
  ): Promise<void> {
    const { chance, clock, libraryClock, profile, trace, watch, cloudClock, backEnd } = this.#options;
    const hangMs = chance.between(1_000, profile.longestHangMs);
    const heeds = chance.happens(profile.heedsSignal);
    // What is carried out behind the back of a provider that has given up must be harmless; what it still waits for may be anything.
    const isCarriedOut = chance.happens(0.5) && (backEnd.isIdempotent || !heeds);
    const endsWell = isCarriedOut && chance.happens(0.5);
    const how = `hangs for ${Math.round(hangMs)} ms${heeds ? "" : ", deaf"}${isCarriedOut ? ", carried out" : ""}`;
    trace.add("provider:", method, ref.name, ref.uid, how);
    let carried: unknown;
    if (isCarriedOut) {
      cloudClock.setTimer(hangMs - 1, () => {
        // Of a program that is gone nobody waits for the call.
        const isLate = !pending.isPending || this.#options.isGone();
        if (isLate && !backEnd.isIdempotent) return;
        try {
          effect(isLate);
          watch.onEffect(method, ref);
        } catch (error) {
          carried = error;
          trace.add("back end: nothing left to do for a late", method, backEnd.of(ref.uid).length);
        }
      });
    }
    await (heeds ? clock.sleep(hangMs, signal) : libraryClock.sleep(hangMs));
    if (carried !== undefined) throw carried;
    if (!endsWell) throw this.#error(`${method}: the back end took too long`);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { chance, profile, reachability } = this.#options;
    await this.#travel(signal);
    this.#checkUp("read");
    if (reachability.hasFaults && chance.happens(profile.readHangs)) await this.#hangInRead(signal);
    if (reachability.hasFaults && chance.happens(profile.errors)) throw this.#error("read: the back end is overloaded");
    if (reachability.hasFaults && chance.happens(profile.strayNotFound)) throw secretNotFound();
  }

  async #hangInRead(signal: AbortSignal): Promise<never> {
    const { chance, clock, libraryClock, profile, trace } = this.#options;
    const hangMs = chance.between(1_000, profile.longestHangMs);
    const heeds = chance.happens(profile.heedsSignal);
    trace.add("provider: a question hangs for", Math.round(hangMs), heeds ? "ms" : "ms, deaf");
    await (heeds ? clock.sleep(hangMs, signal) : libraryClock.sleep(hangMs));
    throw this.#error("read: the back end took too long");
  }

  async #travel(signal: AbortSignal): Promise<void> {
    const { chance, clock, profile } = this.#options;
    if (profile.latencyMs > 0) await clock.sleep(chance.between(profile.latencyMs / 10, profile.latencyMs), signal);
  }

  #checkUp(method: ChangeMethod | "read"): void {
    const { isUp, refused } = this.#options.reachability;
    if (!isUp) throw this.#error(`${method}: the back end is down`);
    if (method !== "read" && refused.has(method)) throw this.#error(`${method}: refused for now`);
  }

  #error(message: string): Error {
    return this.#options.chance.happens(0.5) ? new UnavailableError(message) : new Error(message);
  }

  /** @throws NotFoundError */
  #instance(ref: PodRef): Instance {
    const instances = this.#options.backEnd.of(ref.uid);
    const instance = instances.at(-1);
    if (!instance) throw new NotFoundError(`pod ${ref.name}: the back end has none of UID ${ref.uid}`);
    return instance;
  }

  #toProviderPod(instance: Instance): ProviderPod {
    return { ref: instance.ref, owner: instance.owner, status: this.#statusOf(instance) };
  }

  #statusOf(instance: Instance): ProviderPodStatus {
    return statusOf(instance, this.#options.cloudClock, this.#options.profile.style);
  }
}

/** Whether a call has not come back. */
interface Pending {
  isPending: boolean;
}

/** How long the creation of a pod hangs that is stuck. */
const stuckMs = 3_600_000;

/** Error of a provider that cannot read the secret for its back end. */
function secretNotFound(): NotFoundError {
  const object = { kind: "Secret", namespace: "default", name: "account" };
  return new NotFoundError("read the back end's account", {
    cause: Object.assign(new NotFoundError("secret account not found"), { object }),
  });
}

/** The type says what a provider should do; these are providers that do not. */
function wrongReport(ref: PodRef, chance: Chance): PodUpdate {
  return chance.pick([
    { ref, status: { phase: "Sleeping" } },
    { ref, status: { containerStatuses: [{}] } },
    { ref: { ...ref, uid: `${ref.uid}-of-another` }, gone: true },
    { ref: {} },
    {},
  ]) as PodUpdate;
}

function wrongPod(pod: ProviderPod, chance: Chance): ProviderPod {
  return chance.pick([
    { ...pod, status: { phase: "Sleeping" } },
    { ...pod, status: undefined },
    { ...pod, ref: { ...pod.ref, uid: `${pod.ref.uid}-of-another` }, status: { ...pod.status, phase: "Failed" } },
    { ref: pod.ref, owner: pod.owner, status: { containerStatuses: "none" } },
  ]) as ProviderPod;
}
