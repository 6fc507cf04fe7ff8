import { isAbsolute, join } from "node:path";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { ProgramError } from "../program-error.ts";
import type { CommandResult, Machine } from "./machine.ts";
import type { ServiceTarget } from "./service-target.ts";

/** What a change of a unit needs. */
export interface ServiceDependencies {
  readonly machine: Machine;
  /** Tells the user about a step that was done, on one line. */
  say(text: string): void;
  readonly clock: Context["clock"];
  readonly signal: AbortSignal;
}

/** Refuses before anything happens if the unit could not be changed. @throws ProgramError */
export async function checkSystemd(
  { scope }: ServiceTarget,
  { isRoot, env }: Pick<Context, "isRoot" | "env">,
  machine: Pick<Machine, "exists">,
): Promise<void> {
  if (scope === "system") {
    if (!isRoot)
      throw failure(
        "a unit of the machine needs root: use sudo, or --user for a unit of your own systemd, or print for the text of the unit",
      );
    if (!(await machine.exists("/run/systemd/system")))
      throw failure("systemd does not run here: /run/systemd/system does not exist; service print shows the unit for another machine");
    return;
  }
  const runtime = env["XDG_RUNTIME_DIR"] ?? "";
  if (isAbsolute(runtime) && (await machine.exists(join(runtime, "systemd")))) return;
  throw failure(
    `your own systemd does not run here: ${runtime === "" ? "XDG_RUNTIME_DIR is not set" : `${join(runtime, "systemd")} does not exist`}; ` +
      "log in as this user, or run loginctl enable-linger as root",
  );
}

/** Runs `systemctl`, which manages the units of the scope. */
export async function systemctl(
  { scope }: Pick<ServiceTarget, "scope">,
  args: readonly string[],
  { machine, signal }: Pick<ServiceDependencies, "machine" | "signal">,
): Promise<CommandResult> {
  return await machine.run("systemctl", scope === "user" ? ["--user", ...args] : args, signal);
}

/** Runs `systemctl` as a step. @throws ProgramError with its output if it fails */
export async function systemctlStep(target: ServiceTarget, args: readonly string[], dependencies: ServiceDependencies): Promise<void> {
  const shown = systemctlCommand(target, args);
  const { code, output } = await systemctl(target, args, dependencies);
  if (code !== 0) throw failure(`${shown}: exit code ${code}: ${output.replaceAll("\n", "; ")}`);
  dependencies.say(`ran ${shown}`);
}

/** The command as users write it. */
export function systemctlCommand({ scope }: Pick<ServiceTarget, "scope">, args: readonly string[]): string {
  return ["systemctl", ...(scope === "user" ? ["--user"] : []), ...args].join(" ");
}

/** An error of `service` that is no mistake in the settings. */
export function failure(message: string): ProgramError {
  return new ProgramError(`service: ${message}`, exitCodes.failure.code);
}
