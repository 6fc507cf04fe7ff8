import type { Clock } from "@virtual-kubelet/clock";
import type { AttachIO, ExecResult } from "@virtual-kubelet/core";
import { runRemoteCommand } from "@virtual-kubelet/streaming";
import { Writable } from "node:stream";
import type { FarConnection } from "../far/far-cluster.ts";
import { explainRefusal, refusalError } from "./far-refusal.ts";
import { subresourcePath, type FarTarget } from "./far-target.ts";
import { withUpgradeTarget } from "./upgrade.ts";

/** A command in a container of a far pod, or an attachment to one. */
export interface CommandRequest {
  readonly subresource: "exec" | "attach";
  readonly container: string;
  /** Only with `exec`. */
  readonly command?: readonly string[] | undefined;
  readonly io: AttachIO;
}

/**
 * Runs a command in a far container, or attaches to it: over WebSocket, or SPDY if the far API server does not know the
 * WebSocket protocol that can end the input. The far cluster ends the command when the connection is closed, which an abort does.
 *
 * @throws NotFoundError for a container that does not run; otherwise the error of {@link explainRefusal}; `signal.reason`
 */
export async function runFarCommand(
  { connection, clock, target }: { readonly connection: FarConnection; readonly clock: Clock; readonly target: FarTarget },
  { subresource, container, command, io }: CommandRequest,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { stdin, stderr, tty, resizes } = io;
  // A kubelet refuses a command without any stream.
  const stdout = io.stdout ?? (stdin === undefined && stderr === undefined ? nowhere() : undefined);
  const isWanted = { stdin: stdin !== undefined, stdout: stdout !== undefined, stderr: stderr !== undefined && !tty };
  const path = subresourcePath(target, subresource, { container, ...isWanted, tty, command });
  let result;
  try {
    result = await withUpgradeTarget(connection, path, signal, (to) =>
      runRemoteCommand(to, { stdin, stdout, stderr: tty ? undefined : stderr, tty, resizes, clock, signal }),
    );
  } catch (error) {
    signal.throwIfAborted();
    throw explainRefusal(error, target, subresource);
  }
  if (!("error" in result)) return { exitCode: result.exitCode };
  throw refusalError({ code: result.status?.code ?? 500, message: result.error }, target, subresource);
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
