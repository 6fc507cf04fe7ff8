import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { DeletePodOptions, Logger, PodRef } from "@virtual-kubelet/core";
import { isConflict, isNotFound, messageOf, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { PodIdentity } from "../backend/observation.ts";
import type { RemoteBackend } from "../backend/remote-backend.ts";
import type { RemoteTarget } from "../backend/remote-target.ts";
import { BackgroundWork } from "../work/background-work.ts";
import type { PodFinder } from "./pod-finder.ts";
import type { PodTable } from "./pod-table.ts";

/** Time after which a deletion that the back end has accepted is asked for again, if the object is still there. */
const deleteAgainMs = 300_000;

export interface PodEndingsOptions<Request, Remote, Memory> {
  readonly backend: RemoteBackend<Request, Remote, Memory>;
  readonly table: PodTable<Remote, Memory>;
  readonly finder: PodFinder<Request, Remote, Memory>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the next look at a pod should come soon. */
  readonly onStep: (uid: string) => void;
}

/** Ends pods within their grace, removes surplus objects, and frees what belonged to a pod. */
export class PodEndings<Request, Remote, Memory> {
  readonly #options: PodEndingsOptions<Request, Remote, Memory>;
  readonly #steps = new Map<string, Promise<void>>();
  readonly #surplus = new Map<string, Promise<void>>();
  /** Monotonic times at which deletions of surplus objects were accepted, the oldest first. */
  readonly #surplusDeletedMs = new Map<string, number>();
  readonly #disposal = new AbortController();
  readonly #releases: BackgroundWork;

  constructor(options: PodEndingsOptions<Request, Remote, Memory>) {
    this.#options = options;
    this.#releases = new BackgroundWork({ ...options, backEnd: options.backend.name });
  }

  /**
   * Begins a pod's deletion, or shortens what is left of its grace. Returns when the back end has accepted the first step.
   *
   * @throws NotFoundError if the back end has no such pod; what its `end` throws; `signal.reason`
   */
  async delete(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    const { table, clock, finder } = this.#options;
    const deadlineMs = clock.monotonic() + gracePeriodSeconds * 1000;
    const { uid } = ref;
    if (table.get(uid) === undefined) await finder.find(ref, signal, { acceptUnreadable: true });
    // An ended object may have a successor that only a whole list shows.
    const kind = table.get(uid)?.kind;
    if ((kind === "waiting" || kind === "ended") && !finder.hasListed) await finder.list(signal);
    if (table.get(uid)?.kind === "gone") throw new NotFoundError(`delete pod ${ref.namespace}/${ref.name}: it is gone`);
    table.dispatch(uid, { kind: "delete", deadlineMs });
    await untilAborted(this.step(uid), signal);
  }

  /** Takes the next step of a deletion. @throws what the back end's `end` throws, except for a conflict */
  async step(uid: string): Promise<void> {
    // A step that is under way was chosen with the old deadline.
    await this.#steps.get(uid)?.catch(() => {});
    const state = this.#options.table.get(uid);
    if (state?.kind !== "deleting" || !state.object || this.#disposal.signal.aborted) return;
    const running = this.#steps.get(uid) ?? this.#step(uid).finally(() => this.#steps.delete(uid));
    this.#steps.set(uid, running);
    await running;
  }

  /** Ends an object that is not its pod's latest one. A failure is tried again when the object is seen again. */
  removeSurplus(id: string, identity: PodIdentity, remote: Remote | undefined): void {
    if (this.#surplus.has(id) || this.#wasDeleted(id) || this.#disposal.signal.aborted) return;
    const ended = this.#endSurplus({ id, identity, remote }).finally(() => this.#surplus.delete(id));
    this.#surplus.set(id, ended);
  }

  /** Frees what belonged to a pod that is gone; tried again until it succeeds. */
  release(ref: PodRef, remote: Remote | undefined): void {
    const { backend } = this.#options;
    const release = backend.release?.bind(backend);
    if (!release) return;
    this.#releases.run(`release what belonged to pod ${ref.namespace}/${ref.name} (${ref.uid})`, (signal) =>
      untilAborted(release(ref, remote, signal), signal),
    );
  }

  /** Stops the work and leaves the pods as they are; the next program ends them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await Promise.allSettled([this.#releases[Symbol.asyncDispose](), ...this.#surplus.values(), ...this.#steps.values()]);
  }

  /** Whether the back end has accepted the deletion of a surplus object a short time ago. */
  #wasDeleted(id: string): boolean {
    const nowMs = this.#options.clock.monotonic();
    for (const [oldest, atMs] of this.#surplusDeletedMs) {
      if (nowMs - atMs < deleteAgainMs) break;
      this.#surplusDeletedMs.delete(oldest);
    }
    return this.#surplusDeletedMs.has(id);
  }

  async #step(uid: string): Promise<void> {
    const { backend, table, finder, clock, logger, onStep } = this.#options;
    const state = table.get(uid);
    if (state?.kind !== "deleting" || !state.object) return;
    const { object, deletion } = state;
    const { deadlineMs, isAsked, killedAtMs, deletedAtMs } = deletion;
    const nowMs = clock.monotonic();
    const isOverdue = deletedAtMs !== undefined && nowMs - Math.max(deletedAtMs, deadlineMs) >= deleteAgainMs;
    const isDeleted = deletion.isDeleted && !isOverdue;
    const killedAgoMs = killedAtMs === undefined ? undefined : nowMs - killedAtMs;
    if (isOverdue && deletion.isDeleted) {
      const { namespace, name } = object.identity.ref;
      const message = `${backend.name} has accepted the deletion of a pod's object and still has the object; deleting it again`;
      logger.warn({ pod: `${namespace}/${name}`, object: object.id }, message);
    }
    try {
      const { signal } = this.#disposal;
      const ending = { graceLeftMs: deadlineMs - nowMs, isAsked, killedAgoMs, isDeleted };
      const step = await untilAborted(backend.end(object, ending, signal), signal);
      table.dispatch(uid, { kind: "stepped", step });
      if (step !== "wait") onStep(uid);
    } catch (error) {
      this.#disposal.signal.throwIfAborted();
      // A 404 may be about something else, such as a cluster or a secret; only the description says that the object is gone.
      if (isNotFound(error) && !(await finder.look(object.id, this.#disposal.signal))) return;
      // The calls of a back end may show a new object at different times; the next look decides.
      if (isNotFound(error) && nowMs - object.sinceMs < backend.limits.visibleAfterMs) return onStep(uid);
      // The back end is busy with the object; the next look decides.
      if (!isConflict(error)) throw withoutNotFound(error);
      const { namespace, name } = object.identity.ref;
      logger.debug({ pod: `${namespace}/${name}`, err: messageOf(error) }, "a pod cannot be ended yet; trying again");
    }
  }

  /** Never rejects. */
  async #endSurplus(target: RemoteTarget<Remote>): Promise<void> {
    const { backend, clock, logger } = this.#options;
    const { namespace, name } = target.identity.ref;
    const { signal } = this.#disposal;
    try {
      const ending = { graceLeftMs: 0, isAsked: false, killedAgoMs: undefined, isDeleted: false };
      const step = await untilAborted(backend.end(target, ending, signal), signal);
      const isOver = backend.limits.keepsEndedMs !== undefined && (step === "deleted" || step === "killed");
      if (isOver) this.#surplusDeletedMs.set(target.id, clock.monotonic());
      if (step !== "wait")
        logger.warn({ pod: `${namespace}/${name}`, object: target.id }, "ended an object that is not the pod's latest one");
    } catch (error) {
      if (!signal.aborted) logger.debug({ object: target.id, err: messageOf(error) }, "work on an object failed; trying again later");
    }
  }
}

/** The caller of a deletion takes a "not found" for the pod's. */
function withoutNotFound(error: unknown): unknown {
  return isNotFound(error) ? new UnavailableError(messageOf(error), { cause: error }) : error;
}
