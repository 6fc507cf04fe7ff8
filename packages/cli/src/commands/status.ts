import { Signal } from "@virtual-kubelet/async";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Context, Terminal } from "../context.ts";
import { choiceOf, isOn, valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { statusVersion } from "../debug/status-document.ts";
import { exitCodes } from "../exit-codes.ts";
import { ProgramError, UsageError } from "../program-error.ts";
import { searchOf } from "../status/find-programs.ts";
import { LiveScreen } from "../status/live-screen.ts";
import { readPrograms, type PodFilter, type ProgramsRead } from "../status/read-programs.ts";
import { statusLines } from "../status/status-lines.ts";

/** Time between two looks at the programs of a live screen, in milliseconds. */
const refreshMs = 1_000;

/** `status`: shows the state of the programs that run the nodes of the settings, once or live. */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const { stdout, stderr, terminal } = context;
  const isJson = choiceOf(line, "output", "text") === "json";
  const isLive = valueOf(line, "watch") === undefined ? terminal !== undefined && !isJson : isOn(line, "watch");
  const filter: PodFilter = {
    namespace: valueOf(line, "namespace"),
    name: valueOf(line, "pod"),
    problemsOnly: isOn(line, "problems"),
  };
  if (isLive && isJson) throw new UsageError("--watch: cannot be used with --output json; repeat the command instead");
  if (isLive && !terminal) throw new UsageError("--watch: expected a terminal as the output; leave the flag out to see the state once");
  if (isLive && terminal) return await watch(line, { context, terminal, filter });

  const read = await readPrograms(await searchOf(line, context), filter, { ...context, maxShown: Infinity });
  for (const problem of read.problems) stderr.write(`virtual-kubelet: ${problem}\n`);
  if (isJson) {
    stdout.write(`${JSON.stringify({ version: statusVersion, programs: read.documents }, undefined, 2)}\n`);
  } else {
    const lines = statusLines(read.documents, { width: terminal?.columns, height: undefined, isColoured: isColoured(context) });
    stdout.write(`${lines.join("\n")}\n`);
  }
  return exitCodes.ok.code;
}

interface Watched {
  readonly context: Context;
  readonly terminal: Terminal;
  readonly filter: PodFilter;
}

/** Draws the state again and again, until q or Ctrl-C is pressed or the process has to end. */
async function watch(line: CommandLine, { context, terminal, filter }: Watched): Promise<number> {
  const { clock, stdout } = context;
  // Fails here, before the screen changes, if nothing runs.
  const search = await searchOf(line, context);
  let last: ProgramsRead | ProgramError = await readPrograms(search, filter, { ...context, maxShown: terminal.rows });
  const again = new Signal();
  using screen = new LiveScreen(stdout, terminal, () => again.notify());
  const ended = AbortSignal.any([context.signal, screen.ended]);
  const draw = (): void => {
    const height = terminal.rows - 1;
    const look = { width: terminal.columns, height, isColoured: isColoured(context) };
    const lines =
      last instanceof ProgramError
        ? ["", ...last.message.split("\n")]
        : [...statusLines(last.documents, { ...look, height: height - last.problems.length }), ...last.problems];
    screen.draw([...lines, "press q to leave"]);
  };
  try {
    for (;;) {
      draw();
      if (await again.wait(refreshMs, clock, ended)) continue;
      last = await readPrograms(await searchOf(line, context), filter, { ...context, signal: ended, maxShown: terminal.rows }).catch(
        (error: unknown) => {
          ended.throwIfAborted();
          return error instanceof ProgramError ? error : new ProgramError(messageOf(error), exitCodes.failure.code);
        },
      );
    }
  } catch (error) {
    if (!ended.aborted) throw error;
  }
  return exitCodes.ok.code;
}

function isColoured({ stdout, env }: Pick<Context, "stdout" | "env">): boolean {
  return stdout.isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}
