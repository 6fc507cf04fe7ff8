import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { LineFilter, WatchStream } from "../storage/watch.ts";
import { injectedStatus } from "./injected-status.ts";
import type { CutOff, WatchFault } from "./fault.ts";

/** Applies a fault to one watch. Disposing it releases delayed lines; a watch that was cut stays cut. */
export class WatchFilter implements LineFilter, Disposable {
  readonly #watch: WatchStream;
  readonly #fault: WatchFault;
  readonly #clock: Clock;
  #linesLeft: number;
  /** Set when only the end is left. */
  #cutOff: CutOff | undefined;
  /** Delayed lines with their due times. */
  readonly #late: { readonly dueMs: number; readonly line: Uint8Array }[] = [];
  #timer: Disposable | undefined;
  #isReleased = false;

  constructor(watch: WatchStream, fault: WatchFault, clock: Clock) {
    this.#watch = watch;
    this.#fault = fault;
    this.#clock = clock;
    this.#linesLeft = fault.afterLines ?? 0;
    watch.onClose(() => this.#timer?.[Symbol.dispose]());
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#isReleased = this.#fault.kind === "hold";
    this.#watch.wake();
  }

  pass(take: () => Uint8Array | undefined): Uint8Array | undefined {
    if (this.#isReleased) return this.#late.shift()?.line ?? take();
    if (this.#linesLeft > 0) {
      const line = take();
      if (line !== undefined) this.#linesLeft--;
      return line;
    }
    if (this.#cutOff !== undefined) return this.#end(this.#cutOff);
    return this.#break(take);
  }

  #break(take: () => Uint8Array | undefined): Uint8Array | undefined {
    const fault = this.#fault;
    switch (fault.kind) {
      case "cut":
        return this.#end(fault.cutOff ?? "end");
      case "cut-line": {
        const line = take();
        if (line === undefined) return undefined;
        this.#cutOff = fault.cutOff ?? "reset";
        return line.subarray(0, Math.ceil(line.length / 2));
      }
      case "error-event":
        this.#cutOff = fault.cutOff ?? "end";
        return this.#watch.encodeError({ ...injectedStatus({ status: fault.code }).status });
      case "hold":
        return fault.ms === undefined ? undefined : this.#delay(take, fault.ms);
      default:
        return fault satisfies never;
    }
  }

  #end(cutOff: CutOff): undefined {
    void this.#watch.return();
    if (cutOff === "reset") throw new UnavailableError("read a watch: the connection was reset by an injected fault");
  }

  #delay(take: () => Uint8Array | undefined, ms: number): Uint8Array | undefined {
    const now = this.#clock.monotonic();
    for (let line = take(); line !== undefined; line = take()) this.#late.push({ dueMs: now + ms, line });
    const [first] = this.#late;
    if (first === undefined) return undefined;
    if (first.dueMs <= now) {
      this.#late.shift();
      return first.line;
    }
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.setTimer(first.dueMs - now, () => this.#watch.wake());
    return undefined;
  }
}
