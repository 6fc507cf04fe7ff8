import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { DeletePodOptions, Logger, PodRef } from "@virtual-kubelet/core";
import { isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import type { PodLabels } from "../pod/pod-labels.ts";
import { observeUnread, unreadStatus, type Observation } from "../status/observation.ts";
import type { PodRegistry } from "../status/pod-registry.ts";
import { UnreadableError } from "../zun/unreadable-error.ts";
import type { ZunApi } from "../zun/zun-api.ts";
import { endStep, type EndStep } from "./end-step.ts";
import type { PodFinder } from "./pod-finder.ts";
import type { PodNetwork } from "./pod-network.ts";

/** Intervals between looks at an ending pod: at first, and later. */
const firstLookMs = 250;
const lastLookMs = 2_000;

export interface PodEndingsOptions {
  readonly api: Pick<ZunApi, "stopContainer" | "signalContainer" | "unpauseContainer" | "deleteContainer" | "deleteCapsule">;
  readonly finder: PodFinder;
  readonly registry: PodRegistry;
  readonly network: PodNetwork;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called at every change. */
  readonly onChange: (uid: string) => void;
  /** Called when the pod is gone. */
  readonly onGone: (ref: PodRef) => void;
}

/** A pod that is to end. */
interface Ending {
  deadlineMs: number;
  asked: boolean;
  killedAtMs: number | undefined;
  deleted: boolean;
  /** Ends the wait for the next look. */
  wake: AbortController;
  readonly done: Promise<void>;
}

/** Ends pods within their grace, deletes them, waits until they are gone, and frees their ports and floating IPs. */
export class PodEndings {
  readonly #options: PodEndingsOptions;
  readonly #endings = new Map<string, Ending>();
  readonly #disposal = new AbortController();

  constructor(options: PodEndingsOptions) {
    this.#options = options;
  }

  /** Whether the pod is to end. */
  has(uid: string): boolean {
    return this.#endings.has(uid);
  }

  /**
   * Begins a pod's end, or shortens what is left of its grace. Returns when Zun has taken the first step.
   *
   * @throws NotFoundError when Zun holds no such pod; `signal.reason`
   */
  async end(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    const { clock, registry } = this.#options;
    const deadlineMs = clock.monotonic() + gracePeriodSeconds * 1000;
    const running = this.#endings.get(ref.uid);
    if (running) {
      running.deadlineMs = Math.min(running.deadlineMs, deadlineMs);
      running.wake.abort();
      return;
    }
    const observed = await this.#find(ref, signal);
    if (this.#endings.has(ref.uid)) return this.end(ref, { gracePeriodSeconds }, signal);
    registry.noteEnding(ref.uid);
    const first = Promise.withResolvers<void>();
    const ending: Ending = {
      deadlineMs,
      asked: false,
      killedAtMs: undefined,
      deleted: false,
      wake: new AbortController(),
      done: Promise.resolve().then(() => this.#run(observed, ending, first)),
    };
    this.#endings.set(ref.uid, ending);
    await untilAborted(first.promise, signal);
  }

  /** Deletes the later of two objects that were created for one pod. */
  async removeDuplicate({ kind, uuid, labels }: Observation, signal: AbortSignal): Promise<void> {
    const { api, logger } = this.#options;
    logger.warn({ pod: `${labels.ref.namespace}/${labels.ref.name}`, uuid }, "deleting a second container of the same pod");
    try {
      if (kind === "container") await api.deleteContainer(uuid, signal);
      else await api.deleteCapsule(uuid, signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.debug({ err: error }, "a second container could not be deleted; trying again");
    }
  }

  /** Stops the work and leaves the pods as they are; the next program ends them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await Promise.allSettled([...this.#endings.values()].map(({ done }) => done));
  }

  async #run(start: Observation, ending: Ending, first: PromiseWithResolvers<void>): Promise<void> {
    const { uid } = start.labels.ref;
    try {
      await this.#untilGone(start, ending, first);
      this.#options.registry.forget(uid);
      this.#options.onGone(start.labels.ref);
      await this.#release(start);
    } catch (error) {
      first.reject(error);
    } finally {
      this.#endings.delete(uid);
      first.resolve();
    }
  }

  async #untilGone(start: Observation, ending: Ending, first: PromiseWithResolvers<void>): Promise<void> {
    const { finder, registry, onChange, logger, clock } = this.#options;
    const { signal } = this.#disposal;
    let observed: Observation | undefined = start;
    let pauseMs = firstLookMs;
    while (observed) {
      try {
        const nowMs = clock.monotonic();
        const step = endStep({
          kind: observed.kind,
          status: observed.status,
          asked: ending.asked,
          deleted: ending.deleted,
          killedAgoMs: ending.killedAtMs === undefined ? undefined : nowMs - ending.killedAtMs,
          graceLeftMs: ending.deadlineMs - nowMs,
        });
        if (await this.#take(step, observed, ending)) pauseMs = firstLookMs;
        first.resolve();
      } catch (error) {
        signal.throwIfAborted();
        // Zun is busy with the pod, or it changed meanwhile; the next look decides.
        if (!isConflict(error)) {
          first.reject(error);
          logger.warn(
            { err: error, pod: `${start.labels.ref.namespace}/${start.labels.ref.name}` },
            "a pod could not be ended; trying again",
          );
        }
      }
      await this.#pause(ending, pauseMs);
      pauseMs = Math.min(pauseMs * 2, lastLookMs);
      try {
        observed = await finder.look(observed, signal);
        if (observed) {
          registry.note(observed);
          onChange(observed.labels.ref.uid);
        }
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof UnreadableError && observed) observed = { ...observed, status: unreadStatus };
        logger.debug({ err: error }, "a pod that is ending could not be read; trying again");
      }
    }
  }

  /** The pod as Zun has it, or only its existence if it cannot be read. @throws NotFoundError; UnreadableError where nothing is known to end */
  async #find(ref: PodRef, signal: AbortSignal): Promise<Observation> {
    const { finder, registry } = this.#options;
    try {
      return await finder.find(ref, signal);
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      const known = registry.observed(ref.uid);
      if (known) return { ...known, status: unreadStatus };
      const { kind, uuid, labels = unreadLabels(ref) } = finder.unreadOf(ref) ?? {};
      if (kind === undefined || uuid === undefined) throw error;
      return observeUnread(kind, uuid, labels);
    }
  }

  /** @returns whether anything was done */
  async #take(step: EndStep, { kind, uuid }: Observation, ending: Ending): Promise<boolean> {
    const { api } = this.#options;
    const { signal } = this.#disposal;
    switch (step.kind) {
      case "stop":
        await api.stopContainer(uuid, step.timeoutSeconds, signal);
        ending.asked = true;
        return true;
      case "terminate":
        await api.signalContainer(uuid, "SIGTERM", signal);
        ending.asked = true;
        return true;
      case "kill":
        await api.signalContainer(uuid, "SIGKILL", signal);
        ending.killedAtMs = this.#options.clock.monotonic();
        ending.deleted = false;
        return true;
      case "unpause":
        await api.unpauseContainer(uuid, signal);
        return true;
      case "delete":
        if (kind === "container") await api.deleteContainer(uuid, signal);
        else await api.deleteCapsule(uuid, signal);
        ending.deleted = true;
        return true;
      default:
        return false;
    }
  }

  /** Waits for the next look; less if the grace ends before, or is shortened. */
  async #pause(ending: Ending, ms: number): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#disposal;
    const leftMs = ending.deadlineMs - clock.monotonic();
    const wait = leftMs > 0 ? Math.min(ms, leftMs) : ms;
    try {
      await clock.sleep(wait, AbortSignal.any([signal, ending.wake.signal]));
    } catch {
      signal.throwIfAborted();
      ending.wake = new AbortController();
    }
  }

  async #release({ labels }: Observation): Promise<void> {
    const { network, clock, logger } = this.#options;
    const { signal } = this.#disposal;
    if (!labels.ownsPorts && labels.floatingIp === undefined) return;
    for (let attempt = 0; attempt < 5; attempt++) {
      try {
        return await network.release(labels, signal);
      } catch (error) {
        if (signal.aborted || isNotFound(error)) return;
        logger.warn({ err: error, pod: `${labels.ref.namespace}/${labels.ref.name}` }, "a pod's ports could not be released; trying again");
        await clock.sleep(lastLookMs, signal);
      }
    }
  }
}

/** Placeholder for labels that cannot be read. Ports and floating IPs of such a pod are found by the next sweep. */
function unreadLabels(ref: PodRef): PodLabels {
  const owner = { clusterId: "", nodeName: "" };
  return { ref, owner, containers: [], initContainers: [], restartPolicy: "Always", ownsPorts: false, securityGroups: [] };
}
