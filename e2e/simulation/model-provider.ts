import type {
  Capabilities,
  Clock,
  DeepReadonly,
  DeletePodOptions,
  NodeDescription,
  Owner,
  Pod,
  PodRef,
  PodUpdate,
  Provider,
  ProviderPod,
  ProviderPodList,
  ProviderPodStatus,
  ResolvedPod,
} from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { statusOf, type BackEnd, type Instance } from "./back-end.ts";
import type { Chance } from "./chance.ts";
import type { Trace } from "./trace.ts";

/** How calls to the back end go. Durations are in milliseconds. */
export interface ProviderProfile {
  /** Whether it says how pods go, or is polled. */
  readonly notifies: boolean;
  /** Longest way there, and back. */
  readonly latencyMs: number;
  /** How long a new instance may be missing from lists. */
  readonly listLagMs: number;
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
  /** Share of the lists that lack some pods, and say so. */
  readonly partialLists: number;
}

/** A call that changes something. */
export type ChangeMethod = "createPod" | "updatePod" | "deletePod";

/** What can be done to the back end's reachability while it runs. */
export interface Reachability {
  /** Whether it answers at all. */
  isUp: boolean;
  /** Whether calls go wrong as the profile says. */
  hasFaults: boolean;
  /** Calls that all fail for now. */
  readonly refused: Set<ChangeMethod>;
}

/** What a {@link ModelProvider} stands on. */
export interface ModelProviderDeps {
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
}

/** Told of each call that changes something. */
export interface CallWatch {
  onCall(method: ChangeMethod, ref: PodRef, signal: AbortSignal): void;
  onCallEnd(method: ChangeMethod, ref: PodRef, signal: AbortSignal): void;
  /** The back end carries the call out. */
  onEffect(method: ChangeMethod, ref: PodRef): void;
}

/** What the model provider can run. */
export const capabilities: Capabilities = { env: true, multipleContainers: true, restarts: true, volumes: ["emptyDir", "projected"] };

/** How long a call that does not heed its signal hangs. */
const longestHangMs = 60_000;

/** A provider whose back end is slow, fails, loses answers and hangs, as the seed has it. */
export class ModelProvider implements Provider {
  readonly #deps: ModelProviderDeps;
  #listener: ((update: PodUpdate) => void) | undefined;
  notifyPods?: (listener: (update: PodUpdate) => void) => void;

  constructor(deps: ModelProviderDeps) {
    this.#deps = deps;
    if (deps.profile.notifies) this.notifyPods = (listener) => void (this.#listener = listener);
  }

  /** The back end's side of a notification; the program must be alive. */
  notify(instance: Instance, isRemoved: boolean): void {
    const { ref } = instance;
    this.#listener?.(isRemoved ? { ref, gone: true } : { ref, status: statusOf(instance, this.#deps.cloudClock) });
  }

  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const { backEnd, owner } = this.#deps;
    const ref = refOf(pod);
    await this.#change("createPod", ref, signal, async (perform) => {
      for (const { name } of pod.spec?.containers ?? []) await resolved.environment(name, signal);
      // Without an idempotency token a provider looks first, and makes an instance if it found none.
      const found = backEnd.of(ref.uid).length > 0;
      await perform((isLate) => found || backEnd.create(pod, owner, isLate));
    });
  }

  async updatePod(pod: DeepReadonly<Pod>, _resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const { backEnd } = this.#deps;
    const ref = refOf(pod);
    const call = backEnd.nextCall();
    await this.#change("updatePod", ref, signal, async (perform) => {
      await perform(() => {
        this.#instance(ref);
        backEnd.update(pod, call);
      });
    });
  }

  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    const { backEnd } = this.#deps;
    await this.#change("deletePod", ref, signal, async (perform) => {
      await perform(() => {
        this.#instance(ref);
        backEnd.stop(ref.uid, gracePeriodSeconds);
      });
    });
  }

  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    await this.#read(signal);
    const pod = this.#toProviderPod(this.#instance(ref));
    await this.#travel(signal);
    return pod;
  }

  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return (await this.getPod(ref, signal)).status;
  }

  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    const { backEnd, chance, profile, reachability, trace, cloudClock } = this.#deps;
    await this.#read(signal);
    const nowMs = cloudClock.monotonic();
    const gaps = reachability.hasFaults ? profile.listGaps : 0;
    const listed = backEnd.list().filter(({ createdMs }) => nowMs - createdMs >= profile.listLagMs && !(gaps > 0 && chance.happens(gaps)));
    const complete = !(reachability.hasFaults && chance.happens(profile.partialLists));
    const pods = listed.filter(() => complete || chance.happens(0.5)).map((instance) => this.#toProviderPod(instance));
    if (!complete) trace.add("provider: a partial list of", pods.length, "of", listed.length);
    await this.#travel(signal);
    return { pods, complete };
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#travel(signal);
    if (!this.#deps.reachability.isUp) throw new UnavailableError("ping the back end: it is down");
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
    signal: AbortSignal,
    call: (perform: (effect: (isLate: boolean) => unknown) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { watch, trace, profile, chance, reachability } = this.#deps;
    watch.onCall(method, ref, signal);
    trace.add("provider:", method, ref.name, ref.uid);
    let outcome = "ok";
    try {
      await call(async (effect) => {
        await this.#travel(signal);
        this.#checkUp(method);
        const faults = reachability.hasFaults;
        if (faults && chance.happens(profile.errors)) throw this.#error(`${method}: the back end is overloaded`);
        if (faults && chance.happens(profile.hangs)) await this.#hang(method, ref, signal, effect);
        watch.onEffect(method, ref);
        effect(false);
        if (faults && chance.happens(profile.lostAnswers)) throw this.#error(`${method}: the connection broke`);
        await this.#travel(signal);
      });
    } catch (error) {
      outcome = error instanceof Error ? error.message : String(error);
      throw error;
    } finally {
      trace.add("provider:", method, ref.name, ref.uid, "ended:", outcome);
      watch.onCallEnd(method, ref, signal);
    }
  }

  /** Does not come back before its time; the back end may carry the call out meanwhile, or never. */
  async #hang(method: ChangeMethod, ref: PodRef, signal: AbortSignal, effect: (isLate: boolean) => unknown): Promise<never> {
    const { chance, clock, libraryClock, profile, trace, watch, cloudClock, backEnd } = this.#deps;
    const hangMs = chance.between(1_000, longestHangMs);
    const heeds = chance.happens(profile.heedsSignal);
    // What is carried out behind the back of a provider that has given up must be harmless; what it still waits for may be anything.
    const isCarriedOut = chance.happens(0.5) && (backEnd.isIdempotent || (!heeds && method !== "createPod"));
    trace.add(
      "provider:",
      method,
      ref.name,
      ref.uid,
      `hangs for ${Math.round(hangMs)} ms`,
      heeds ? "" : "deaf",
      isCarriedOut ? "carried out" : "",
    );
    if (isCarriedOut) {
      cloudClock.setTimer(hangMs - 1, () => {
        try {
          effect(true);
          watch.onEffect(method, ref);
        } catch {
          trace.add("back end: nothing left to do for a late", method, backEnd.of(ref.uid).length);
        }
      });
    }
    await (heeds ? clock.sleep(hangMs, signal) : libraryClock.sleep(hangMs));
    throw this.#error(`${method}: the back end took too long`);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { chance, profile, reachability } = this.#deps;
    await this.#travel(signal);
    this.#checkUp("read");
    if (reachability.hasFaults && chance.happens(profile.errors)) throw this.#error("read: the back end is overloaded");
  }

  async #travel(signal: AbortSignal): Promise<void> {
    const { chance, clock, profile } = this.#deps;
    if (profile.latencyMs > 0) await clock.sleep(chance.between(profile.latencyMs / 10, profile.latencyMs), signal);
  }

  #checkUp(method: ChangeMethod | "read"): void {
    const { isUp, refused } = this.#deps.reachability;
    if (!isUp) throw this.#error(`${method}: the back end is down`);
    if (method !== "read" && refused.has(method)) throw this.#error(`${method}: refused for now`);
  }

  #error(message: string): Error {
    return this.#deps.chance.happens(0.5) ? new UnavailableError(message) : new Error(message);
  }

  /** @throws NotFoundError */
  #instance(ref: PodRef): Instance {
    const instances = this.#deps.backEnd.of(ref.uid);
    const instance = instances.at(-1);
    if (!instance) throw new NotFoundError(`pod ${ref.name}: the back end has none of UID ${ref.uid}`);
    return instance;
  }

  #toProviderPod(instance: Instance): ProviderPod {
    return { ref: instance.ref, owner: instance.owner, status: statusOf(instance, this.#deps.cloudClock) };
  }
}

function refOf({ metadata = {} }: DeepReadonly<Pod>): PodRef {
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "", uid: metadata.uid ?? "" };
}
