import type { Clock } from "@virtual-kubelet/core";
import type { FakeRuntime } from "./fake-runtime.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

/**
 * A moment of a program's death: its n-th call of the runtime, from 1. The call is not made, is made but not answered, or takes effect two
 * seconds later.
 */
export interface Moment {
  readonly call: number;
  readonly when: "before" | "after" | "late";
}

const lateMs = 2_000;

export interface MortalRuntimeOptions {
  readonly clock: Clock;
  /** When the program dies. Default: only by {@link MortalRuntime.kill}. */
  readonly death: Moment | undefined;
  /** Called once, at the death. */
  onDeath(): void;
}

/**
 * A runtime as one program sees it. The program can be killed at any call: completed calls keep their effect, answers are lost, and later
 * calls do not reach the runtime.
 */
export class MortalRuntime {
  /** The runtime for the program. */
  readonly runtime: ContainerRuntime;
  /** Calls so far. */
  calls = 0;
  #isDead = false;
  readonly #clock: Clock;
  readonly #death: Moment | undefined;
  readonly #onDeath: () => void;

  constructor(fake: FakeRuntime, { clock, death, onDeath }: MortalRuntimeOptions) {
    this.#clock = clock;
    this.#death = death;
    this.#onDeath = onDeath;
    this.runtime = new Proxy(fake, {
      get: (target, property): unknown => {
        const member: unknown = Reflect.get(target, property, target);
        if (typeof member !== "function" || property === "events") return typeof member === "function" ? member.bind(target) : member;
        return (...args: unknown[]): unknown => this.#call(() => member.apply(target, args) as Promise<unknown>);
      },
    });
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  kill(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#onDeath();
  }

  async #call(make: () => Promise<unknown>): Promise<unknown> {
    const call = ++this.calls;
    if (this.#dieAt(call, "late")) this.#clock.setTimer(lateMs, () => void make().catch(() => {}));
    this.#dieAt(call, "before");
    if (this.#isDead) return new Promise<never>(() => {});
    try {
      return await make();
    } finally {
      this.#dieAt(call, "after");
      // A dead program gets neither answers nor errors.
      if (this.#isDead) await new Promise<never>(() => {});
    }
  }

  #dieAt(call: number, when: Moment["when"]): boolean {
    const isNow = !this.#isDead && this.#death?.call === call && this.#death.when === when;
    if (isNow) this.kill();
    return isNow;
  }
}
