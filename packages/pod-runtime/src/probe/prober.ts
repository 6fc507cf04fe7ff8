import type { Clock, Logger } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { afterProbe, newProbe, timeoutMs, type ProbeKind, type ProbeOutcome, type ProbeSpec } from "./probe-schedule.ts";

/** How often an attempt that cannot be made is made again at once. Source: maxProbeRetries of kubernetes v1.36.3 prober. */
const maxTries = 3;

/** How long after a command without an answer it may show that the runtime was going away: one that is being stopped answers no more, at first. */
const leavingMs = 2_000;

/** A probe that is to run as long as it is wanted. */
export interface WantedProbe {
  readonly container: string;
  /** The runtime's id of the instance. */
  readonly id: string;
  readonly kind: ProbeKind;
  readonly spec: ProbeSpec;
  /** When the instance started, in wall-clock milliseconds since the epoch; the initial delay counts from then. */
  readonly startedAtMs: number;
  /** Whether the container counts as ready when the probe begins. */
  readonly isReady: boolean;
}

/** What one attempt found. */
export interface ProbeAttempt {
  readonly isSuccess: boolean;
  /** What the container answered, for people. */
  readonly output: string;
  /** It succeeded, and people should know of the output nevertheless. */
  readonly isWarning?: boolean;
}

/** An attempt that may have been cut off because its time was over. */
interface TimedAttempt extends ProbeAttempt {
  readonly isLate?: boolean;
}

/** Makes one attempt; ends with `signal` when the time is over. Rejects if it cannot be made at all. */
export type ProbeAction = (probe: WantedProbe, signal: AbortSignal) => Promise<ProbeAttempt>;

/** What a prober needs. */
export interface ProberOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Begins to watch the runtime. What it returns tells whether the runtime is away, or was at any time since: then a command in a
   * container comes to nothing. Default: the runtime never is away.
   */
  readonly watchPresence?: (() => () => boolean) | undefined;
  /** Asks the runtime for a sign of life; rejects if it gives none in time. Default: it always gives one. */
  readonly pingRuntime?: ((signal: AbortSignal) => Promise<void>) | undefined;
  readonly attempt: ProbeAction;
  /**
   * Runs an attempt when there is room for one more. The wait does not count towards the probe's time-out. The attempt settles only when
   * {@link attempt} has, which may be after the time-out was reported, and never rejects. Default: at once.
   *
   * @throws `signal.reason` when aborted before the attempt begins
   */
  readonly admit?: (probe: WantedProbe, attempt: () => Promise<void>, signal: AbortSignal) => Promise<void>;
  /**
   * Looks at a failed attempt, whose time is over. Rejects if the failure may be that of the way to the container, as when its machine
   * is out of reach: then nothing is known. Default: every failure is the container's.
   */
  readonly confirm?: (probe: WantedProbe, signal: AbortSignal) => Promise<void>;
  /**
   * An attempt was made, or could not be made.
   *
   * @param seconds - how long it took, without the time that it waited for room
   */
  onAttempt?(probe: WantedProbe, outcome: ProbeOutcome, seconds: number): void;
  /** A probe has another result now. */
  onResult(probe: WantedProbe, isSuccess: boolean): void;
  /** A single attempt has failed. */
  onFailure(probe: WantedProbe, output: string): void;
  /** A single attempt has succeeded with a warning. */
  onWarning(probe: WantedProbe, output: string): void;
}

/** Runs the probes of one pod: those that are wanted, each until it is no longer. */
export class Prober implements Disposable {
  readonly #options: ProberOptions;
  readonly #running = new Map<string, AbortController>();

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Starts what is newly wanted and stops the rest; what goes on is not disturbed. */
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
    try {
      while (!state.isOver) {
        await clock.sleep(Math.max(0, state.dueMs - clock.monotonic()), signal);
        let beganAtMs: number | undefined;
        const outcome = await this.#attempt(probe, () => (beganAtMs ??= clock.monotonic()), signal);
        signal.throwIfAborted();
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

  /** @param onBegin - called when there is room for the attempt; again for each repetition */
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

  /** Makes an attempt once there is room for it. The room stays taken while an attempt whose time is over still ends. */
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

  /** Whether the runtime of a command without an answer goes away, or gives no answer to anybody. */
  async #isLeaving(wasAway: () => boolean, signal: AbortSignal): Promise<boolean> {
    const { clock, logger, pingRuntime } = this.#options;
    await clock.sleep(leavingMs, signal);
    if (wasAway()) return true;
    try {
      await pingRuntime?.(signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.debug({ err: error }, "the runtime does not answer, so a command without an answer says nothing of its container");
      return true;
    }
    return wasAway();
  }

  /** An attempt that takes too long has failed. */
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
