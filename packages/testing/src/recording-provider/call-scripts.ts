import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { CallSubject, ProviderMethod } from "./call-log.ts";

/** Scripted behavior of calls of a method. Without a script a call succeeds at once. */
export interface CallScript {
  /** Only calls for this pod. */
  readonly uid?: string | undefined;
  /** Number of calls that the script applies to. Default: all until it is disposed. */
  readonly times?: number | undefined;
  /** Delay before the call has an effect, in milliseconds. */
  readonly delayMs?: number | undefined;
  /** Promise that the call awaits before it has an effect. */
  readonly until?: Promise<unknown> | undefined;
  /** Error thrown before the call has an effect. */
  readonly error?: Error | undefined;
  /** Error thrown after the call has had its effect: the caller cannot know the outcome. */
  readonly errorAfter?: Error | undefined;
  /** Keeps waiting when the call's signal aborts, as a faulty provider does. */
  readonly ignoreAbort?: boolean | undefined;
}

/** The active scripts. The first script that matches a call is used. */
export class CallScripts {
  readonly #clock: Clock;
  readonly #scripts = new Set<{ readonly method: ProviderMethod; readonly script: CallScript; taken: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(method: ProviderMethod, script: CallScript): Disposable {
    const entry = { method, script, taken: 0 };
    this.#scripts.add(entry);
    return { [Symbol.dispose]: () => void this.#scripts.delete(entry) };
  }

  /** Runs the call according to the matching script. */
  async play<T>(subject: CallSubject, signal: AbortSignal, act: () => T): Promise<T> {
    const script = this.#take(subject);
    const waitSignal = script?.ignoreAbort === true ? undefined : signal;
    if (script?.delayMs !== undefined) await this.#clock.sleep(script.delayMs, waitSignal);
    if (script?.until !== undefined) await (waitSignal ? untilAborted(script.until, waitSignal) : script.until);
    if (script?.error !== undefined) throw script.error;
    waitSignal?.throwIfAborted();
    const result = act();
    if (script?.errorAfter !== undefined) throw script.errorAfter;
    return result;
  }

  #take(subject: CallSubject): CallScript | undefined {
    for (const entry of this.#scripts) {
      const { script } = entry;
      if (entry.method !== subject.method || (script.uid !== undefined && script.uid !== subject.ref?.uid)) continue;
      if (script.times !== undefined && ++entry.taken >= script.times) this.#scripts.delete(entry);
      return script;
    }
    return undefined;
  }
}
