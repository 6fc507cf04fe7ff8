import type { Clock, Logger } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { afterProbe, newProbe, timeoutMs, type ProbeKind, type ProbeOutcome, type ProbeSpec } from "./probe-schedule.ts";

/** Immediate repetitions of an attempt that could not be made. Source: maxProbeRetries of kubernetes v1.36.3 prober. */
const maxTries = 3;

/**
 * Time in which a runtime may still announce its shutdown after a command got no answer, in milliseconds: a runtime that is being stopped
 * first stops answering.
 */
const leavingMs = 2_000;

/** A probe that runs for as long as it is wanted. */
export interface WantedProbe {
  readonly container: string;
  /** The runtime's id of the instance. */
  readonly id: string;
  readonly kind: ProbeKind;
  readonly spec: ProbeSpec;
  /** Start of the instance, in wall-clock milliseconds since the epoch. The initial delay counts from it. */
  readonly startedAtMs: number;
  /** Whether the container is ready when the probe starts. */
  readonly isReady: boolean;
}

/** Result of one attempt. */
export interface ProbeAttempt {
  readonly isSuccess: boolean;
  /** The container's answer, for users. */
  readonly output: string;
  /** Whether a success should be reported with its output. */
  readonly isWarning?: boolean;
}

/** An attempt that may have been cut off by its time-out. */
interface TimedAttempt extends ProbeAttempt {
  readonly isLate?: boolean;
}

/** Makes one attempt, which ends with `signal` at its time-out. Rejects if the attempt is impossible. */
export type ProbeAction = (probe: WantedProbe, signal: AbortSignal) => Promise<ProbeAttempt>;

/** Options of a prober. */
export interface ProberOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Starts to watch the runtime. The returned function tells whether the runtime is away or has been since; a command in a container has no
   * result then. Default: the runtime is never away.
   */
  readonly watchPresence?: (() => () => boolean) | undefined;
  /** Pings the runtime; rejects if it does not answer in time. Default: it always answers. */
  readonly pingRuntime?: ((signal: AbortSignal) => Promise<void>) | undefined;
  readonly attempt: ProbeAction;
  /**
   * Runs an attempt when there is room for one more. The wait does not count towards the probe's time-out. The attempt settles only when
   * the action has, which may be after the time-out was reported, and never rejects. Default: at once.
   *
   * @throws `signal.reason` when aborted before the attempt begins
   */
  readonly admit?: (probe: WantedProbe, attempt: () => Promise<void>, signal: AbortSignal) => Promise<void>;
  /**
   * Checks a failed attempt after its time-out. Rejects if the way to the container may have failed, such as when its machine is
   * unreachable: the result is unknown then. Default: every failure is the container's.
   */
  readonly confirm?: (probe: WantedProbe, signal: AbortSignal) => Promise<void>;
  /**
   * Called after each attempt, whether it could be made or not.
   *
   * @param seconds - its duration, without the wait for admission
   */
  onAttempt?(probe: WantedProbe, outcome: ProbeOutcome, seconds: number): void;
  /** Called when a probe's result has changed. */
  onResult(probe: WantedProbe, isSuccess: boolean): void;
  /** Called after each failed attempt. */
  onFailure(probe: WantedProbe, output: string): void;
  /** Called after each successful attempt with a warning. */
  onWarning(probe: WantedProbe, output: string): void;
}

/** Runs the wanted probes of one pod. */
export class Prober implements Disposable {
  readonly #options: ProberOptions;
  readonly #running = new Map<string, AbortController>();

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Sets the wanted probes: starts new ones, stops others, and does not disturb those that stay. */
  want(probes: readonly WantedProbe[]): void {
    const wanted = new Map(probes.map((probe) => [keyOf(probe), probe]));
    for (const [key, abort] of this.#running) {
      if (wanted.has(key)) continue;
      this.#running.delete(key);
      abort.abort(new Error("the probe is no longer wanted"));
    }
    for (const [key, probe] of wanted) {
      if (this.#running.has(key)) continue;
      const abort = new AbortController();
      this.#running.set(key, abort);
      void this.#run(probe, abort.signal);
    }
  }

  [Symbol.dispose](): void {
    this.want([]);
  }

  /** Never rejects. */
  async #run(probe: WantedProbe, signal: AbortSignal): Promise<void> {
    const { clock, onAttempt, onResult } = this.#options;
    const startedAtMs = clock.monotonic() - Math.max(0, clock.now() - probe.startedAtMs);
    const fresh = newProbe(probe.kind, probe.spec, startedAtMs, probe.isReady);
    let state = { ...fresh, dueMs: Math.max(fresh.dueMs, clock.monotonic()) };
    let last: ProbeOutcome = "success";
    try {
      while (!state.isOver) {
        await clock.sleep(Math.max(0, state.dueMs - clock.monotonic()), signal);
        let beganAtMs: number | undefined;
        // If the runtime stands still, the next command would be late as well.
        const isInVain: boolean = last === "error" && probe.spec.exec !== undefined && !(await this.#answers(signal));
        const outcome: ProbeOutcome = isInVain ? "error" : await this.#attempt(probe, () => (beganAtMs ??= clock.monotonic()), signal);
        signal.throwIfAborted();
        last = outcome;
        const endedAtMs = clock.monotonic();
        onAttempt?.(probe, outcome, (endedAtMs - (beganAtMs ?? endedAtMs)) / 1000);
        const after = afterProbe(state, outcome, clock.monotonic());
        state = after.state;
        if (after.result !== undefined) onResult(probe, after.result);
      }
    } catch (error) {
      if (!signal.aborted) this.#options.logger.error({ container: probe.container, probe: probe.kind, err: error }, "a probe ended");
    }
  }

  /** @param onBegin - called when the attempt is admitted, and again for each repetition */
  async #attempt(probe: WantedProbe, onBegin: () => void, signal: AbortSignal): Promise<ProbeOutcome> {
    const { logger, watchPresence, onFailure, onWarning, confirm } = this.#options;
    const wasAway = probe.spec.exec && watchPresence?.();
    for (let tries = 0; tries < maxTries; tries++) {
      try {
        const { isSuccess, output, isWarning, isLate }: TimedAttempt = await this.#admitted(probe, onBegin, signal);
        if (!isSuccess && wasAway && (wasAway() || (isLate && (await this.#isLeaving(wasAway, signal))))) return "error";
        if (!isSuccess) {
          await confirm?.(probe, signal);
          signal.throwIfAborted();
          onFailure(probe, output);
        } else if (isWarning) onWarning(probe, output);
        return isSuccess ? "success" : "failure";
      } catch (error) {
        signal.throwIfAborted();
        logger.debug({ container: probe.container, probe: probe.kind, err: error }, "a probe could not be made");
      }
    }
    return "error";
  }

  /** Makes an attempt once it is admitted. It counts as admitted until it has ended, which may be after its time-out. */
  #admitted(probe: WantedProbe, onBegin: () => void, signal: AbortSignal): Promise<TimedAttempt> {
    const { admit } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<TimedAttempt>();
    const begin = async (): Promise<void> => {
      onBegin();
      const { inTime, settled } = this.#begin(probe, signal);
      inTime.then(resolve, reject);
      await settled;
    };
    (admit ? admit(probe, begin, signal) : begin()).catch(reject);
    return promise;
  }

  /** Whether the runtime is shutting down or answers nobody, after a command got no answer. */
  async #isLeaving(wasAway: () => boolean, signal: AbortSignal): Promise<boolean> {
    await this.#options.clock.sleep(leavingMs, signal);
    return wasAway() || !(await this.#answers(signal)) || wasAway();
  }

  async #answers(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#options.pingRuntime?.(signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      this.#options.logger.debug(
        { err: error },
        "a probe's command got no answer, and the runtime does not answer either; the attempt does not count",
      );
      return false;
    }
  }

  /** Starts an attempt, which fails at its time-out. */
  #begin(probe: WantedProbe, outer: AbortSignal): { readonly inTime: Promise<TimedAttempt>; readonly settled: Promise<void> } {
    const { clock, attempt } = this.#options;
    const limit = new AbortController();
    const late = new Error(`no answer within ${timeoutMs(probe.spec)} ms`);
    const ended = Promise.withResolvers<TimedAttempt>();
    const timer = clock.setTimer(timeoutMs(probe.spec), () => {
      limit.abort(late);
      ended.resolve({ isSuccess: false, output: messageOf(late), isLate: true });
    });
    const settled = attempt(probe, AbortSignal.any([outer, limit.signal]))
      .then(ended.resolve, (error: unknown) => (limit.signal.aborted ? undefined : ended.reject(error)))
      .finally(() => timer[Symbol.dispose]());
    return { inTime: ended.promise, settled };
  }
}

function keyOf({ container, id, kind }: { readonly container: string; readonly id: string; readonly kind: ProbeKind }): string {
  return `${container}/${id}/${kind}`;
}
