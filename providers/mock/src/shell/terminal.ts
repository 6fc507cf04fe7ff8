import { Input, toBytes, type Output } from "./streams.ts";

/** Maximum bytes of unread input; further input is dropped. Source: Linux, N_TTY_BUF_SIZE. */
const maxUnreadBytes = 4096;

export interface TerminalOptions {
  /** Input typed by the client. */
  readonly typed: AsyncIterable<Uint8Array>;
  /** Output to the client. */
  readonly screen: Output;
  /** Called for Ctrl-C. */
  readonly onInterrupt: () => void;
}

/** Line discipline of a terminal: echoes the input and passes it on in whole lines, with Backspace, Ctrl-U, Ctrl-C and Ctrl-D. */
export class Terminal {
  /** Input for commands, in whole lines. */
  readonly input: Input;
  /** Output of commands; newlines become carriage return and line feed. */
  readonly output: Output;
  /** Resolves at the end of the typed input. */
  readonly done: Promise<void>;
  readonly #screen: Output;
  #line: number[] = [];
  #unread: Uint8Array[] = [];
  #unreadBytes = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor({ typed, screen, onInterrupt }: TerminalOptions) {
    this.#screen = screen;
    this.input = new Input(this.#lines());
    this.output = { write: (chunk) => screen.write(withCarriageReturns(chunk)) };
    this.done = this.#read(typed, onInterrupt);
  }

  async #read(typed: AsyncIterable<Uint8Array>, onInterrupt: () => void): Promise<void> {
    try {
      for await (const chunk of typed) for (const byte of chunk) if (!(await this.#type(byte, onInterrupt))) return;
      this.#hand(Uint8Array.from(this.#line));
    } finally {
      this.#ended = true;
      this.#wake?.();
    }
  }

  #hand(line: Uint8Array): void {
    if (line.byteLength === 0 || this.#unreadBytes + line.byteLength > maxUnreadBytes) return;
    this.#unread.push(line);
    this.#unreadBytes += line.byteLength;
    this.#wake?.();
  }

  async *#lines(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const line = this.#unread.shift();
      if (line) {
        this.#unreadBytes -= line.byteLength;
        yield line;
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** @returns false at the end of the input */
  async #type(byte: number, onInterrupt: () => void): Promise<boolean> {
    switch (byte) {
      case 3:
        this.#line = [];
        await this.#screen.write("^C\r\n");
        onInterrupt();
        return true;
      case 4:
        return this.#line.length > 0;
      case 8:
      case 127:
        if (this.#line.pop() !== undefined) await this.#screen.write("\b \b");
        return true;
      case 21:
        await this.#screen.write("\b \b".repeat(this.#line.length));
        this.#line = [];
        return true;
      case 10:
      case 13: {
        await this.#screen.write("\r\n");
        const line = Uint8Array.from([...this.#line, 10]);
        this.#line = [];
        this.#hand(line);
        return true;
      }
      default:
        this.#line.push(byte);
        await this.#screen.write(Uint8Array.of(byte));
        return true;
    }
  }
}

function withCarriageReturns(chunk: Uint8Array | string): Uint8Array {
  const bytes = toBytes(chunk);
  // Converted byte by byte, because a chunk may end within a character.
  return bytes.includes(10) ? Buffer.from(bytes.toString("latin1").replaceAll("\n", "\r\n"), "latin1") : bytes;
}
