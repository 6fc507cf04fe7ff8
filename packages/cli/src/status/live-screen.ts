import type { Output, Terminal } from "../context.ts";

const enter = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const leave = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const toEndOfScreen = "\u001b[J";

/** Keys that end the screen: q, Ctrl-C and Ctrl-D, which are no signals while keys are read singly. */
const endKeys: ReadonlySet<string> = new Set(["q", "Q", "\u0003", "\u0004"]);

/** The alternate screen of a terminal, which is drawn over and over. Disposing of it shows the terminal as it was. */
export class LiveScreen implements Disposable {
  readonly #output: Output;
  readonly #terminal: Terminal;
  readonly #end = new AbortController();
  readonly #reading: readonly Disposable[];

  /** @param onResize - called after a change of the size, because the screen has to be drawn again */
  constructor(output: Output, terminal: Terminal, onResize: () => void) {
    this.#output = output;
    this.#terminal = terminal;
    output.write(enter);
    this.#reading = [terminal.onResize(onResize), terminal.onKey((key) => endKeys.has(key) && this.#end.abort())];
  }

  /** Aborts when the user ends the screen. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Draws these lines; those that do not fit are left out. */
  draw(lines: readonly string[]): void {
    const fitting = lines.slice(0, this.#terminal.rows);
    // Erased first: after a line that fills the screen the cursor stays on its last character, which would be erased.
    this.#output.write(`${home}${toEndOfScreen}${fitting.join("\r\n")}`);
  }

  [Symbol.dispose](): void {
    for (const each of this.#reading) each[Symbol.dispose]();
    this.#output.write(leave);
  }
}
