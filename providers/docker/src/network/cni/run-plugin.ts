import type { Clock } from "@virtual-kubelet/clock";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { spawn } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { z } from "zod";

/** Commands for a plugin. Source: CNI specification 1.1.0. */
export type PluginCommand = "ADD" | "CHECK" | "DEL" | "STATUS";

export interface PluginCall {
  readonly command: PluginCommand;
  /** Name of the program: the `type` of its configuration. */
  readonly type: string;
  /** Folders of programs, in order of preference. */
  readonly binDirs: readonly string[];
  /** Configuration, written to its standard input as JSON. */
  readonly config: object;
  /** Parameters of the protocol, such as `CNI_CONTAINERID`; the command and the path are added. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Runs a plugin. @returns its standard output @throws as {@link pluginRunner} */
export type RunPlugin = (call: PluginCall, signal: AbortSignal) => Promise<string>;

/** Deadline of a plugin, in milliseconds. It may request an address from a server. */
const timeoutMs = 220_000;

/** Maximum characters kept of a plugin's messages. */
const maxSaid = 2_000;

/** Folders of iptables and ip, in addition to the program's own path. */
const systemFolders = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"];

/** A plugin's error. Source: CNI specification 1.1.0, section 5, Error. */
const errorSchema = z.object({ code: z.number(), msg: z.string(), details: z.string().optional() });

/**
 * Creates a function that runs plugins as programs of this machine.
 *
 * @returns the function; it throws NotFoundError if no folder has the plugin, UnavailableError with the plugin's message if it fails, and
 * `signal.reason`
 */
export function pluginRunner(clock: Clock): RunPlugin {
  return async (call, signal) => {
    const what = `network plugin ${call.type}, ${call.command}`;
    const deadline = new AbortController();
    const late = new UnavailableError(`${what}: it did not end within ${timeoutMs / 1000} s`);
    using _timer = clock.setTimer(timeoutMs, () => deadline.abort(late));
    return await runPlugin(what, call, AbortSignal.any([signal, deadline.signal]));
  };
}

async function runPlugin(what: string, { command, type, binDirs, config, parameters }: PluginCall, signal: AbortSignal): Promise<string> {
  const program = await findPlugin(type, binDirs);
  if (program === undefined) throw new NotFoundError(`${what}: there is no program ${type} in ${binDirs.join(", ")}`);
  signal.throwIfAborted();
  const child = spawn(program, [], {
    env: { PATH: systemFolders.join(delimiter), ...parameters, CNI_COMMAND: command, CNI_PATH: binDirs.join(delimiter) },
    stdio: ["pipe", "pipe", "pipe"],
    signal,
    killSignal: "SIGKILL",
  });
  // A plugin that exits without reading its input reports the reason on its output.
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(config));
  try {
    const [code, stdout, stderr] = await Promise.all([
      new Promise<number | null>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", resolve);
      }),
      text(child.stdout),
      text(child.stderr),
    ]);
    if (code === 0) return stdout;
    throw new UnavailableError(`${what}: ${saidBy(stdout, stderr) || `it ended with ${code ?? "a signal"}`}`);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

async function findPlugin(type: string, binDirs: readonly string[]): Promise<string | undefined> {
  for (const folder of binDirs) {
    const path = join(folder, type);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

function saidBy(stdout: string, stderr: string): string {
  try {
    const { code, msg, details } = errorSchema.parse(JSON.parse(stdout));
    return `${msg}${details === undefined || details === "" ? "" : `: ${details}`} (code ${code})`.slice(0, maxSaid);
  } catch {
    return (stderr.trim() || stdout.trim()).slice(0, maxSaid);
  }
}
