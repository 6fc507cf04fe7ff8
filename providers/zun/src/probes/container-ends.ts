import type { Clock, Logger } from "@virtual-kubelet/core";
import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { FailedContainer } from "@virtual-kubelet/pod-runtime/probes";
import { longestStopSeconds } from "../lifecycle/end-step.ts";
import type { PodFinder } from "../lifecycle/pod-finder.ts";
import type { Observation } from "../status/observation.ts";
import { instanceId, type PodRegistry } from "../status/pod-registry.ts";
import type { ZunApi } from "../zun/zun-api.ts";

export interface ContainerEndsOptions {
  readonly api: Pick<ZunApi, "rebootContainer" | "stopContainer">;
  readonly finder: Pick<PodFinder, "look">;
  readonly registry: PodRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the pod is being deleted. */
  readonly isEnding: (uid: string) => boolean;
  /** Called when the known state of the pod has changed. */
  readonly onChange: (uid: string) => void;
}

const firstPauseMs = 1_000;
const maxPauseMs = 30_000;
const lookMs = 500;
/** Looks within which a restart must be seen to begin; Zun begins it within a second. */
const looksBefore = 6;
/** Zun's words for an instance that has ended by itself, or is about to be another: what comes next is probed anew. */
const hasEnded: ReadonlySet<string> = new Set(["Stopped", "Restarting", "Rebuilding", "Error", "Dead", "Deleting"]);

/** Ends containers whose probes have failed, once for each instance. Retries while Zun fails. */
export class ContainerEnds implements AsyncDisposable {
  readonly #options: ContainerEndsOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #disposal = new AbortController();

  constructor(options: ContainerEndsOptions) {
    this.#options = options;
  }

  /** Whether a container of the pod is being ended, so that a list is out of date. */
  has(uid: string): boolean {
    return this.#running.has(uid);
  }

  /**
   * Has the container restarted, or stopped for good where its policy is never to restart. While one of the pod's is being ended, the next
   * waits: what is told of a restart before it is made can make a new instance of the old one, whose probe fails again.
   */
  end(uid: string, failed: FailedContainer): void {
    const before = this.#running.get(uid) ?? Promise.resolve();
    const done = before
      .then(() => this.#run(uid, failed))
      .finally(() => {
        if (this.#running.get(uid) === done) this.#running.delete(uid);
      });
    this.#running.set(uid, done);
  }

  /** Stops the work and leaves the containers as they are. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await Promise.all(this.#running.values());
  }

  /** Never rejects. */
  async #run(uid: string, failed: FailedContainer): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#disposal;
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
      try {
        return await this.#try(uid, failed, signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn(
          { uid, container: failed.name, err: messageOf(error) },
          "a container whose probe failed could not be ended; trying again",
        );
      }
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }

  async #try(uid: string, failed: FailedContainer, signal: AbortSignal): Promise<void> {
    const { api, registry, finder, isEnding, onChange } = this.#options;
    const known = registry.observed(uid);
    if (!known || isEnding(uid)) return;
    const observed = await finder.look(known, signal);
    if (!observed || !this.#isHeld(observed) || instanceId(observed, failed.name, registry.record(uid, failed.name)) !== failed.id) return;
    if (hasEnded.has(observed.status)) return;
    if (observed.status !== "Running") {
      registry.note(observed);
      onChange(uid);
      throw new UnavailableError(`end container ${failed.name}: Zun says ${observed.status}, and ends only what is Running`);
    }
    const graceSeconds = Math.min(failed.graceSeconds, longestStopSeconds);
    if (!failed.isRestarted) return api.stopContainer(observed.uuid, graceSeconds, signal);
    await api.rebootContainer(observed.uuid, graceSeconds, signal);
    if (!this.#isHeld(observed)) return;
    // Zun reports the new state at once, and a list may follow.
    registry.note({ ...observed, status: "Restarting", members: observed.members.map((member) => ({ ...member, status: "Restarting" })) });
    onChange(uid);
    await this.#untilRestarted(observed, signal);
  }

  /** Between the answer and the restart itself, Docker still shows the container as running. */
  async #untilRestarted(start: Observation, signal: AbortSignal): Promise<void> {
    const { clock, finder, registry, isEnding, logger, onChange } = this.#options;
    const { uid } = start.labels.ref;
    let isUnderWay = false;
    for (let looks = 0; !isEnding(uid); looks++) {
      await clock.sleep(Math.min(maxPauseMs, lookMs * 2 ** Math.max(0, looks - looksBefore)), signal);
      let observed: Observation | undefined;
      try {
        observed = await finder.look(start, signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.debug({ err: messageOf(error) }, "a restarting container could not be read; trying again");
        continue;
      }
      // The next list finds that it is gone.
      if (!observed) return;
      const isBusy = observed.status === "Restarting" || observed.taskState !== "";
      isUnderWay ||= isBusy;
      if (isBusy || (!isUnderWay && looks < looksBefore)) continue;
      if (!this.#isHeld(observed)) return;
      registry.note(observed);
      return onChange(uid);
    }
  }

  /** Whether the pod still is this container's, and is not being deleted: who deletes it notes how it ends. */
  #isHeld({ uuid, labels: { ref } }: Observation): boolean {
    return this.#options.registry.observed(ref.uid)?.uuid === uuid && !this.#options.isEnding(ref.uid);
  }
}
