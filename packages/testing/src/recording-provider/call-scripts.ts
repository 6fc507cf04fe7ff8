import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { CallSubject, ProviderMethod } from "./call-log.ts";

/** How calls of a method are to go. Without a script a call succeeds at once. */
export interface CallScript {
  /** Only calls for this pod. */
  readonly uid?: string | undefined;
  /** Only so many calls; default all until it is disposed. */
  readonly times?: number | undefined;
  /** Milliseconds the call takes before it does anything. */
  readonly delayMs?: number | undefined;
  /** The call waits for this before it does anything. */
  readonly until?: Promise<unknown> | undefined;
  /** Thrown instead of doing anything. */
  readonly error?: Error | undefined;
  /** Thrown after it was done: an outcome that the caller cannot know. */
  readonly errorAfter?: Error | undefined;
  /** The waiting does not end when the call's signal aborts, as with a careless provider. */
  readonly ignoreAbort?: boolean | undefined;
}

/** The scripts that wait for calls. Of several that match, the first is taken. */
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

  /** Does what the script for this call says, and in its midst what the call is for. */
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
