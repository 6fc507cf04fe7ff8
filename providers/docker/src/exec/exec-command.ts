import type { AttachIO, ExecResult, TerminalSize } from "@virtual-kubelet/core";
import { isConflict, isNotFound, messageOf, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { ClientOutput } from "./client-output.ts";
import { isHostProcess, killProcessGroup } from "../engine/host-process.ts";
import { joinStreams } from "./join-streams.ts";
import { resizeTerminal } from "./terminal-size.ts";

/** State of a command at the engine. */
interface ExecState {
  readonly isRunning: boolean;
  /** `undefined` until it has ended. */
  readonly exitCode: number | undefined;
  /** Process id on the engine's host; 0 before it runs. */
  readonly pid: number;
}

const createdSchema = z.object({ Id: z.string() });
const stateSchema = z.object({ Running: z.boolean(), ExitCode: z.number().nullish(), Pid: z.number().nullish() });

/** Start of the message that an engine sends in place of output if a command could not be started. */
const startFailurePrefix = "OCI runtime exec failed: ";

/**
 * Exit code that an engine reports when it could not start a command, whatever the reason. Source: ContainerExecStart in daemon/exec.go of
 * moby v23.0.
 */
const notStartedCode = 126;

/** Exit code of a command that was killed with its container. */
const killedCode = 137;

/** Deadline and interval of the search for an aborted command, whose start may take seconds on a busy machine. */
const endLooks = { timeoutMs: 15_000, intervalMs: 25, maxIntervalMs: 200 };

/** Where {@link execCommand} runs a command. */
export interface ExecTarget {
  readonly containerId: string;
  /** Whether the engine forgets the process ID of a command that has ended, as podman does. Default: false. */
  readonly forgetsProcesses?: boolean | undefined;
}

/**
 * Runs a command in a container; resolves when it has ended and all output is written. Like in a shell, a command that cannot start exits
 * with 126 or 127 and writes the reason to standard error. When aborted, the command is killed if the engine runs on this machine;
 * elsewhere it goes on, because the Engine API cannot end it.
 *
 * @throws NotFoundError for a container that does not exist or does not run; UnavailableError if the engine itself could not start the
 * command, such as while it shuts down; `signal.reason`
 */
export async function execCommand(
  engine: DockerEngine,
  target: ExecTarget,
  command: readonly string[],
  io: AttachIO,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { containerId } = target;
  const execId = await createExec(engine, containerId, command, io, signal);
  signal.throwIfAborted();
  try {
    return await runExec(engine, { ...target, execId }, io, signal);
  } catch (error) {
    if (signal.aborted) await endExec(engine, containerId, execId).catch(() => undefined);
    throw error;
  }
}

async function createExec(
  engine: DockerEngine,
  containerId: string,
  command: readonly string[],
  io: AttachIO,
  signal: AbortSignal,
): Promise<string> {
  const body = { Cmd: command, AttachStdin: io.stdin !== undefined, AttachStdout: true, AttachStderr: true, Tty: io.tty };
  const path = `/containers/${encodeURIComponent(containerId)}/exec`;
  try {
    return createdSchema.parse(await engine.json({ method: "POST", path, body }, signal)).Id;
  } catch (cause) {
    // 409: the container does not run. A kubelet reports it as not found.
    if (isConflict(cause)) throw new NotFoundError(`run a command in container ${containerId}: it does not run`, { cause });
    throw cause;
  }
}

/** A command at the engine. */
interface CreatedExec extends ExecTarget {
  readonly execId: string;
}

/** Starts the command and connects its streams. */
async function runExec(
  engine: DockerEngine,
  { containerId, execId, forgetsProcesses }: CreatedExec,
  io: AttachIO,
  signal: AbortSignal,
): Promise<ExecResult> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const outputs: Buffer[] = [];
  let failure: string | undefined;
  try {
    const request = { method: "POST", path: `/exec/${execId}/start`, body: { Detach: false, Tty: io.tty } } as const;
    const connection = await engine.upgrade(request, signal);
    const resize = (size: TerminalSize): Promise<void> => resizeTerminal(engine, `/exec/${execId}/resize`, size, until);
    const filter = (bytes: Buffer): boolean => {
      if (outputs.length === 0) failure = tryStartFailure(bytes);
      // A second piece shows that the first was not the only one.
      if (outputs.length < 2) outputs.push(bytes);
      return failure === undefined;
    };
    await joinStreams(connection, io, { tty: io.tty, resize, filter }, signal);
    const end = await endOf(engine, execId, signal);
    const reason = io.tty || forgetsProcesses ? undefined : tryEngineFailure(end, outputs);
    if (reason !== undefined)
      throw new UnavailableError(`run a command in container ${containerId}: the engine could not start it: ${reason}`);
    if (failure === undefined) return { exitCode: end.exitCode };
  } catch (error) {
    // Newer engines refuse the start.
    failure = signal.aborted ? undefined : /OCI runtime exec failed: .*/s.exec(messageOf(error))?.[0].trim();
    if (failure === undefined) throw error;
  } finally {
    over.abort();
  }
  const output = new ClientOutput({ stdout: io.stdout, stderr: io.stderr ?? io.stdout });
  await output.sink("stderr", Buffer.from(`${failure}${io.tty ? "\r" : ""}\n`));
  return { exitCode: startFailureCode(failure) };
}

/** End of a command at the engine. */
type ExecEnd = Pick<ExecState, "pid"> & { readonly exitCode: number };

/**
 * Waits for a command's end after its output has ended. The engine records it a moment later, and some commands continue without output.
 */
async function endOf(engine: DockerEngine, execId: string, signal: AbortSignal): Promise<ExecEnd> {
  for (let intervalMs = 5; ; intervalMs = Math.min(intervalMs * 2, 500)) {
    const state = await tryExecState(engine, execId, signal);
    if (state === undefined) return { exitCode: killedCode, pid: 0 };
    const { isRunning, exitCode, pid } = state;
    if (!isRunning && exitCode !== undefined) return { exitCode, pid };
    await engine.clock.sleep(intervalMs, signal);
  }
}

/** Kills a command whose client is gone, within a deadline. */
async function endExec(engine: DockerEngine, containerId: string, execId: string): Promise<void> {
  const deadline = new AbortController();
  using _timer = engine.clock.setTimer(endLooks.timeoutMs, () => deadline.abort(new Error("out of time")));
  for (let { intervalMs } = endLooks; ; intervalMs = Math.min(intervalMs * 2, endLooks.maxIntervalMs)) {
    const state = await tryExecState(engine, execId, deadline.signal);
    if (state === undefined || (!state.isRunning && state.exitCode !== undefined)) return;
    if (state.isRunning && state.pid > 0) {
      if (await isHostProcess(state.pid, containerId)) killProcessGroup(state.pid);
      return;
    }
    await engine.clock.sleep(intervalMs, deadline.signal);
  }
}

/** `undefined` if the engine has removed the command with its container. */
async function tryExecState(engine: DockerEngine, execId: string, signal: AbortSignal): Promise<ExecState | undefined> {
  try {
    const answer = await engine.json({ method: "GET", path: `/exec/${execId}/json` }, signal);
    const { Running, ExitCode, Pid } = stateSchema.parse(answer);
    return { isRunning: Running, exitCode: ExitCode ?? undefined, pid: Pid ?? 0 };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The engine's message about a command that could not be started; `undefined` for real output. */
function tryStartFailure(firstOutput: Buffer): string | undefined {
  const start = firstOutput.toString("latin1", 0, startFailurePrefix.length);
  return start === startFailurePrefix ? firstOutput.toString("utf8").trim() : undefined;
}

/**
 * Why the engine itself could not start a command; `undefined` if the command ran, or could not be started for a reason of its own. An
 * engine that has lost containerd, such as while it shuts down, sends its error as the only output of a command that never had a process.
 */
function tryEngineFailure({ exitCode, pid }: ExecEnd, [only, ...more]: readonly Buffer[]): string | undefined {
  if (exitCode !== notStartedCode || pid !== 0 || only === undefined || more.length > 0 || tryStartFailure(only) !== undefined)
    return undefined;
  const line = only.toString("utf8");
  return line.endsWith("\r\n") ? line.trim() : undefined;
}

/** Exit code of a command that could not be started. It is a shell's, because engines differ. */
function startFailureCode(message: string): 126 | 127 {
  return /executable file not found|no such file or directory/i.test(message) ? 127 : 126;
}
