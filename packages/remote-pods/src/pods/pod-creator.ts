import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { podRef, type DeepReadonly, type Owner, type Pod, type PodRef, type ProviderHost, type ResolvedPod } from "@virtual-kubelet/core";
import {
  isConflict,
  isForbidden,
  isInvalidInput,
  isNotFound,
  isQuotaExceeded,
  isTerminal,
  isUnauthorized,
  isUnsupported,
  InvalidInputError,
  messageOf,
  QuotaExceededError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { retryAfterMsOf } from "@virtual-kubelet/kube-client";
import type { PodIdentity } from "../backend/observation.ts";
import type { RemoteBackend } from "../backend/remote-backend.ts";
import { identityOf } from "../state/pod-state.ts";
import type { ObjectObserver } from "./object-observer.ts";
import type { PodFinder } from "./pod-finder.ts";
import type { PodTable } from "./pod-table.ts";

/** Delay before a pod is created again that found no quota or capacity. */
const quotaRetryMs = 60_000;
const longestQuotaRetryMs = 600_000;

export interface PodCreatorOptions<Request, Remote, Memory> {
  readonly backend: RemoteBackend<Request, Remote, Memory>;
  readonly table: PodTable<Remote, Memory>;
  readonly finder: PodFinder<Request, Remote, Memory>;
  readonly observer: ObjectObserver<Request, Remote, Memory>;
  readonly host: Pick<ProviderHost, "clock" | "logger" | "findPod" | "resolvePod">;
  readonly owner: Owner;
}

/** Creates one object for each pod, or adopts the object that an earlier create has made. */
export class PodCreator<Request, Remote, Memory> {
  readonly #options: PodCreatorOptions<Request, Remote, Memory>;
  readonly #clock: Clock;
  readonly #underWay = new Map<string, Promise<void>>();
  /** Pods that found no quota or capacity: when the next create may be sent, and how often it failed. */
  readonly #full = new Map<string, { readonly untilMs: number; readonly failures: number; readonly error: unknown }>();
  /** Pods whose create may still come through, although the last list lacks the object. */
  readonly #unclear = new Set<string>();
  /** Pods of which this program has created an object, so that it knows all later ones. */
  readonly #own = new Set<string>();
  readonly #disposal = new AbortController();
  readonly #startedMs: number;

  constructor(options: PodCreatorOptions<Request, Remote, Memory>) {
    this.#options = options;
    this.#clock = options.host.clock;
    this.#startedMs = this.#clock.monotonic();
  }

  /** UIDs of pods that are being created. */
  get underWay(): ReadonlySet<string> {
    return new Set(this.#underWay.keys());
  }

  /** Waits for a create that continues after its call was aborted. Never rejects. */
  async settled(uid: string): Promise<void> {
    await this.#underWay.get(uid)?.catch(() => {});
  }

  /** Removes what is remembered of a pod that is gone. */
  forget(uid: string): void {
    this.#full.delete(uid);
    this.#unclear.delete(uid);
    this.#own.delete(uid);
  }

  /**
   * Creates the pod's first object, or adopts an existing one. A request that was sent continues after an abort, and the next call waits for
   * it.
   *
   * @throws what `translate` and `create` throw; UnavailableError while it is unknown whether the pod has an object; `signal.reason`
   */
  async create(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const ref = podRef(pod);
    signal.throwIfAborted();
    await untilAborted(this.settled(ref.uid), signal);
    const { table } = this.#options;
    if (table.get(ref.uid) === undefined) await this.#findLatest(pod, signal);
    const state = table.get(ref.uid);
    if (state?.kind === "deleting") throw new UnavailableError(`create pod ${nameOf(ref)}: its object is still being deleted`);
    if (state && state.kind !== "creating" && state.kind !== "unclear" && state.kind !== "gone") return;
    const identity = state?.kind === "gone" ? next(state.identity) : state ? identityOf(state) : this.#firstIdentity(pod);
    await this.#run(pod, { resolved, identity, mustLook: state?.kind !== "gone" }, signal);
  }

  /** Creates the next object of a pod whose object has ended and that Kubernetes expects to run again. */
  async createNext(uid: string, signal: AbortSignal): Promise<void> {
    const { table, host } = this.#options;
    const state = table.get(uid);
    if (this.#underWay.has(uid) || (state?.kind !== "waiting" && state?.kind !== "unclear")) return;
    const { ref } = identityOf(state);
    const pod = host.findPod(ref);
    if (!pod || podRef(pod).uid !== uid || pod.metadata?.deletionTimestamp !== undefined) return;
    // A later object, which an earlier program may have created, may not be listed yet.
    if (state.kind === "waiting" && !this.#own.has(uid) && this.#invisibleMs() > 0) return;
    const identity = state.kind === "waiting" ? next(state.object.identity) : state.identity;
    await this.#run(pod, { resolved: host.resolvePod(ref), identity, mustLook: state.kind === "unclear" }, signal);
  }

  /** Aborts creates that continue in the background. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await Promise.allSettled(this.#underWay.values());
  }

  async #run(
    pod: DeepReadonly<Pod>,
    { resolved, identity, mustLook }: { readonly resolved: ResolvedPod; readonly identity: PodIdentity; readonly mustLook: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { uid } = identity.ref;
    this.#refuseWhileFull(uid);
    const { finder, table } = this.#options;
    let known = table.get(uid)?.kind;
    const mayExist = this.#unclear.has(uid) || finder.isUnreadable(uid) || !finder.hasListed;
    const isUncertain = known === "unclear" || known === "creating" || mayExist;
    const hasChanged = (): UnavailableError => new UnavailableError(`create pod ${nameOf(identity.ref)}: its state has changed`);
    if (mustLook && isUncertain) {
      if (await this.#adopt(identity, signal)) return;
      known = table.get(uid)?.kind;
      if (known === "deleting") throw hasChanged();
    }
    if (known === undefined) this.#refuseWhileInvisible(pod);
    const request = await this.#options.backend.translate(pod, resolved, identity, signal);
    signal.throwIfAborted();
    // Another create, or a deletion, may have begun in the meantime.
    if (this.#underWay.has(uid)) return untilAborted(this.settled(uid), signal);
    if (table.get(uid)?.kind !== known) throw hasChanged();
    const work = this.#send(request, identity).finally(() => this.#underWay.delete(uid));
    this.#underWay.set(uid, work);
    await untilAborted(work, signal);
  }

  /**
   * Looks for the latest object of a pod that has run before. Its number is not known, so only a complete list tells that there is none.
   *
   * @throws UnavailableError if the list is incomplete
   */
  async #findLatest(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void> {
    const { finder } = this.#options;
    if (finder.hasListed || this.#firstIdentity(pod).attempt === 0) return;
    try {
      await finder.find(podRef(pod), signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Refuses a pod that has a status while its latest object, which an earlier program may have created, may not be listed yet. */
  #refuseWhileInvisible(pod: DeepReadonly<Pod>): void {
    const retryAfterMs = this.#invisibleMs();
    if (retryAfterMs <= 0 || (pod.status?.containerStatuses ?? []).length === 0) return;
    const attempted = `create pod ${nameOf(podRef(pod))}`;
    throw new UnavailableError(`${attempted}: an object of an earlier start may not be listed yet; waiting for it to appear`, {
      retryAfterMs,
    });
  }

  /** Milliseconds for which objects of an earlier program may still be missing in lists; 0 or less: none. */
  #invisibleMs(): number {
    return this.#startedMs + this.#options.backend.limits.visibleAfterMs - this.#clock.monotonic();
  }

  async #adopt(identity: PodIdentity, signal: AbortSignal): Promise<boolean> {
    const { finder, table, backend } = this.#options;
    if (await finder.adopt(identity, signal)) return !(await this.#discarded(identity, signal));
    const { ref } = identity;
    // Lists may omit an object for some time; a second create would make a second object.
    if (table.get(ref.uid)?.kind === "unclear" && backend.limits.idempotency === "none")
      throw new UnavailableError(
        `create pod ${nameOf(ref)}: it is unknown whether an earlier create has succeeded; waiting for it to appear`,
      );
    return false;
  }

  async #send(request: Request, identity: PodIdentity): Promise<void> {
    const { backend, table, observer, finder } = this.#options;
    const { signal } = this.#disposal;
    const { uid } = identity.ref;
    table.dispatch(uid, { kind: "create", identity });
    try {
      const { id, remote } = await untilAborted(backend.create(request, identity, signal), signal);
      if (observer.isAnother(id, identity, remote))
        throw new UnavailableError(
          `create pod ${nameOf(identity.ref)}: ${backend.name} answered with object ${id}, which is not the pod's`,
        );
      this.#full.delete(uid);
      this.#unclear.delete(uid);
      this.#own.add(uid);
      observer.note(id, identity, remote, { isCreateAnswer: true });
    } catch (error) {
      if (!isConflict(error) && isRefusal(error)) throw this.#afterRefusal(identity, error);
      table.dispatch(uid, { kind: "unclear" });
      finder.expireLists();

      this.#unclear.add(uid);
      if (await this.#wasCreated(identity, error)) return;
      throw error;
    }
  }

  /** Removes the object that was found if an earlier create has left it incomplete. @returns whether it was removed */
  async #discarded({ ref }: PodIdentity, signal: AbortSignal): Promise<boolean> {
    const { backend, table } = this.#options;
    const object = table.objectOf(ref.uid);
    if (!object || !backend.discardIncomplete || !(await backend.discardIncomplete(object, signal))) return false;
    table.dispatch(ref.uid, { kind: "discarded", id: object.id });
    return true;
  }

  /** Looks for the object at once after an answer that was lost, and after one that says that it exists already. */
  async #wasCreated(identity: PodIdentity, error: unknown): Promise<boolean> {
    const { signal } = this.#disposal;
    try {
      return (await this.#options.finder.adopt(identity, signal)) && !(await this.#discarded(identity, signal));
    } catch (lookError) {
      signal.throwIfAborted();
      if (isConflict(lookError)) throw lookError;
      this.#options.host.logger.debug(
        { err: messageOf(lookError), create: messageOf(error) },
        "the outcome of a create is unknown for now",
      );
      return false;
    }
  }

  /** @returns the error to throw */
  #afterRefusal({ ref: { uid, ...ref } }: PodIdentity, error: unknown): unknown {
    const { table, backend } = this.#options;
    const failures = (this.#full.get(uid)?.failures ?? 0) + 1;
    const wantedMs = Math.max(quotaRetryMs * 2 ** (failures - 1), retryAfterMsOf(error) ?? 0);
    const retryAfterMs = isQuotaExceeded(error) ? Math.min(wantedMs, longestQuotaRetryMs) : undefined;
    table.dispatch(uid, { kind: "refused", retryAfterMs });
    // A missing network or cluster does not mean a missing pod.
    if (isNotFound(error)) return new InvalidInputError(messageOf(error), { cause: error });
    if (retryAfterMs === undefined) return error;
    const told = new QuotaExceededError(
      `create pod ${nameOf(ref)}: ${backend.name} has no room: ${messageOf(error)}; it is tried again in ${Math.ceil(retryAfterMs / 1000)} s`,
      { cause: error, retryAfterMs },
    );
    this.#full.set(uid, { untilMs: this.#clock.monotonic() + retryAfterMs, failures, error: told });
    return told;
  }

  #refuseWhileFull(uid: string): void {
    const full = this.#full.get(uid);
    if (full && this.#clock.monotonic() < full.untilMs) throw full.error;
  }

  /** A pod that has run before, and of which nothing is left, must not get an object that its first create has made. */
  #firstIdentity(pod: DeepReadonly<Pod>): PodIdentity {
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
    // Between two objects no container has an id.
    const started = [...containerStatuses, ...initContainerStatuses].filter(
      ({ containerID, lastState }) => containerID !== undefined || lastState?.terminated !== undefined,
    );
    const attempt = started.length === 0 ? 0 : Math.max(...started.map(({ restartCount }) => restartCount)) + 1;
    return { ref: podRef(pod), owner: this.#options.owner, attempt };
  }
}

function isRefusal(error: unknown): boolean {
  return [isInvalidInput, isForbidden, isUnauthorized, isQuotaExceeded, isUnsupported, isNotFound, isTerminal, isConflict].some((matches) =>
    matches(error),
  );
}

function next(identity: PodIdentity): PodIdentity {
  return { ...identity, attempt: identity.attempt + 1 };
}

function nameOf({ namespace, name }: Omit<PodRef, "uid">): string {
  return `${namespace}/${name}`;
}
