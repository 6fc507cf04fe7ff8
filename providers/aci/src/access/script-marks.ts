import { MarkedStream, type MarkedPiece } from "@virtual-kubelet/remote-pods";

/** Errors of the command, or the end of all its output. */
type OwnMark = { readonly kind: "errors"; readonly bytes: Buffer } | { readonly kind: "done" };

/** A part of what a script of `exec-script.ts` sends. */
export type Piece = MarkedPiece | OwnMark;

/** Longest line of errors that is kept back until its end arrives; a longer one is sent as output. */
const maxLineBytes = 1024 * 1024;

/** Tells the marks of a script of `exec-script.ts` from its command's output. */
export function markedStream(nonce: string): MarkedStream<OwnMark> {
  return new MarkedStream(nonce, { readMark: toOwnMark, maxLineBytes });
}

function toOwnMark(line: string): OwnMark | undefined {
  if (line.startsWith(">")) return { kind: "errors", bytes: Buffer.from(`${line.slice(1)}\n`, "latin1") };
  if (line.startsWith(")")) return { kind: "errors", bytes: Buffer.from(line.slice(1), "latin1") };
  return /^\.\r?$/.test(line) ? { kind: "done" } : undefined;
}
