import type { TerminalSize } from "@virtual-kubelet/core";

/** What a frame of Nomad's exec says. */
export type ExecEvent =
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr"; readonly data: Buffer }
  | { readonly kind: "exited"; readonly exitCode: number }
  /** A heartbeat, the end of a stream, or what is not known. */
  | { readonly kind: "nothing" };

/** The longest piece of input in one frame. */
const pieceBytes = 32_768;

/** Reads a frame. @throws SyntaxError */
export function readExecFrame(text: string): ExecEvent {
  const { stdout, stderr, exited, result } = JSON.parse(text) as {
    readonly stdout?: { readonly data?: string };
    readonly stderr?: { readonly data?: string };
    readonly exited?: boolean;
    readonly result?: { readonly exit_code?: number };
  };
  // A code of zero is left out.
  if (exited) return { kind: "exited", exitCode: result?.exit_code ?? 0 };
  if (stdout?.data) return { kind: "output", stream: "stdout", data: Buffer.from(stdout.data, "base64") };
  if (stderr?.data) return { kind: "output", stream: "stderr", data: Buffer.from(stderr.data, "base64") };
  return { kind: "nothing" };
}

/** The frames for a piece of input. */
export function inputFrames(data: Uint8Array): string[] {
  const frames: string[] = [];
  for (let at = 0; at < data.byteLength; at += pieceBytes)
    frames.push(JSON.stringify({ stdin: { data: Buffer.from(data.subarray(at, at + pieceBytes)).toString("base64") } }));
  return frames;
}

/** The input's end. */
export const inputEndFrame = '{"stdin":{"close":true}}';

/** Keeps the connection alive. */
export const heartbeatFrame = "{}";

export function sizeFrame({ width, height }: TerminalSize): string {
  return JSON.stringify({ tty_size: { height, width } });
}
