import type { Writable } from "node:stream";

/** How engines begin to say that a command could not be started, where its output is due. */
const openings = ["OCI runtime exec failed: ", "rpc error: ", "exec failed: "].map((text) => Buffer.from(text));

/** Longest that is held back. */
const maxBytes = 4096;

/**
 * An engine says on a command's standard output why it could not start it. This holds back what looks like that, until
 * it is known whether the command ran.
 */
export class StartFailureFilter {
  #held: Buffer | undefined = Buffer.alloc(0);

  /** What of the next bytes is output for certain. */
  push(chunk: Buffer): Buffer | undefined {
    if (this.#held === undefined) return chunk;
    const held = Buffer.concat([this.#held, chunk]);
    if (held.length <= maxBytes && openings.some((opening) => beginsAlike(held, opening))) {
      this.#held = held;
      return undefined;
    }
    this.#held = undefined;
    return held;
  }

  /** What was held back. */
  get held(): Buffer {
    return this.#held ?? Buffer.alloc(0);
  }
}

/** The exit code of a command that could not be started, as a shell would tell it. */
export function startFailureCode(message: string): 126 | 127 {
  return /executable file not found|no such file or directory/i.test(message) ? 127 : 126;
}

/** A target that keeps a start's failure out of the output. */
export function filteredTarget(target: Writable | undefined, filter: StartFailureFilter): (bytes: Buffer) => Buffer | undefined {
  return (bytes) => (target === undefined ? void filter.push(bytes) : filter.push(bytes));
}

function beginsAlike(bytes: Buffer, opening: Buffer): boolean {
  const length = Math.min(bytes.length, opening.length);
  return bytes.subarray(0, length).equals(opening.subarray(0, length));
}
