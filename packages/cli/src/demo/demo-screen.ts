import type { Context } from "../context.ts";
import { isColoured } from "../is-coloured.ts";

/** Prints the steps of the demo, one line each, with the time since the start. */
export class DemoScreen {
  readonly #context: Pick<Context, "stdout" | "env" | "clock">;
  readonly #startedMs: number;
  readonly #coloured: boolean;

  constructor(context: Pick<Context, "stdout" | "env" | "clock">) {
    this.#context = context;
    this.#startedMs = context.clock.monotonic();
    this.#coloured = isColoured(context.stdout, context.env);
  }

  /** Seconds since the start, such as `1.24 s`. */
  get elapsed(): string {
    return `${((this.#context.clock.monotonic() - this.#startedMs) / 1000).toFixed(2)} s`;
  }

  /** Prints a completed step. */
  done(text: string): void {
    this.#line(this.#paint("32", "✓"), text);
  }

  /** Prints an observed change. */
  seen(text: string): void {
    this.#line(this.#paint("36", "·"), text);
  }

  /** Prints text without a time. */
  say(text: string): void {
    this.#context.stdout.write(`${text}\n`);
  }

  /** Highlights text if the terminal supports it. */
  strong(text: string): string {
    return this.#paint("1", text);
  }

  #line(mark: string, text: string): void {
    this.#context.stdout.write(`${this.#paint("2", this.elapsed.padStart(8))}  ${mark} ${text}\n`);
  }

  #paint(code: string, text: string): string {
    return this.#coloured ? `\u001b[${code}m${text}\u001b[0m` : text;
  }
}
