import type { Clock, PodRef, Provider } from "@virtual-kubelet/core";

/** A method of a provider that the recording provider records. */
export type ProviderMethod = Exclude<keyof Provider, symbol | "notifyPods" | "notifyNodeStatus">;

/** A recorded call of a provider. Times are monotonic. */
export interface RecordedCall {
  readonly method: ProviderMethod;
  /** The pod; absent when the call does not concern a single pod. */
  readonly ref: PodRef | undefined;
  /** Grace period of a `deletePod`; otherwise `undefined`. */
  readonly gracePeriodSeconds: number | undefined;
  readonly startedAtMs: number;
  /** `undefined` while the call is running. */
  readonly endedAtMs: number | undefined;
  /** `undefined` while the call is running. */
  readonly outcome: "returned" | "threw" | undefined;
}

/** Fields recorded when a call starts. */
export interface CallSubject {
  readonly method: ProviderMethod;
  readonly ref?: PodRef | undefined;
  readonly gracePeriodSeconds?: number | undefined;
}

/** Calls that may never overlap for one pod. */
const exclusive: ReadonlySet<ProviderMethod> = new Set(["createPod", "updatePod", "deletePod"]);

/** Records calls and detects forbidden overlaps. */
export class CallLog {
  readonly calls: RecordedCall[] = [];
  readonly violations: string[] = [];
  readonly #clock: Clock;
  readonly #underWay = new Map<string, ProviderMethod>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs the call and records it. */
  async record<T>(subject: CallSubject, run: () => Promise<T>): Promise<T> {
    const { method, ref, gracePeriodSeconds } = subject;
    const call: { -readonly [Key in keyof RecordedCall]: RecordedCall[Key] } = {
      method,
      ref,
      gracePeriodSeconds,
      startedAtMs: this.#clock.monotonic(),
      endedAtMs: undefined,
      outcome: undefined,
    };
    this.calls.push(call);
    const key = exclusive.has(method) ? (ref?.uid ?? (method === "ping" ? "ping" : undefined)) : undefined;
    if (key !== undefined) this.#enter(key, method);
    try {
      const result = await run();
      call.outcome = "returned";
      return result;
    } catch (error) {
      call.outcome = "threw";
      throw error;
    } finally {
      call.endedAtMs = this.#clock.monotonic();
      if (key !== undefined) this.#underWay.delete(key);
    }
  }

  #enter(key: string, method: ProviderMethod): void {
    const other = this.#underWay.get(key);
    if (other !== undefined) this.violations.push(`${method} of ${key} began while ${other} was under way`);
    this.#underWay.set(key, method);
  }
}
