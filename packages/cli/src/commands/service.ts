import { untilAborted } from "@virtual-kubelet/async";
import { isAbsolute } from "node:path";
import type { Context } from "../context.ts";
import { isOn, valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { valueAt } from "../config/layers.ts";
import { loadSettings, readLayers, type LoadedSettings } from "../config/load-settings.ts";
import { ms } from "../config/node-options.ts";
import { defaults } from "../config/defaults.ts";
import { checkRun } from "../dry-run/check-run.ts";
import { exitCodes } from "../exit-codes.ts";
import { stateDirectory } from "../kubelet-server/cert-directory.ts";
import { planNodes, type PlannedNode } from "../nodes/plan-nodes.ts";
import { UsageError } from "../program-error.ts";
import { builtInProvider } from "../providers/registry.ts";
import { carriedSettings } from "../service/carried-settings.ts";
import { installService, journalCommand } from "../service/install-service.ts";
import { thisMachine, type Machine } from "../service/machine.ts";
import { serviceTarget, type ServiceTarget } from "../service/service-target.ts";
import { renderEnvironmentFile, renderUnit, type ServicePlan } from "../service/service-unit.ts";
import { checkSystemd, systemctlCommand, type ServiceDependencies } from "../service/systemd.ts";
import { uninstallService } from "../service/uninstall-service.ts";
import { vanishingPath } from "../service/vanishing-path.ts";

/** `service install|uninstall|print`: the program with these settings as a unit of systemd. */
export async function execute(line: CommandLine, context: Context, machine: Machine = thisMachine): Promise<number> {
  if (isOn(line, "dry-run")) throw new UsageError("--dry-run: is of run; service print shows the unit without installing it");
  if (isOn(line, "user") && valueOf(line, "run-as-user") !== undefined)
    throw new UsageError("--run-as-user: cannot be used with --user, whose systemd runs everything as its own user");
  const { signal } = context;
  // Files that the settings name may be on a share that does not answer.
  switch (line.args[0]) {
    case "print":
      await untilAborted(print(line, context), signal);
      break;
    case "uninstall":
      await uninstall(line, context, machine);
      break;
    default:
      await install(line, context, machine);
  }
  return exitCodes.ok.code;
}

async function print(line: CommandLine, context: Context): Promise<void> {
  const { plan, warnings } = await planService(line, context);
  const unit = renderUnit(plan);
  const { target, carried } = plan;
  for (const warning of warnings) context.stderr.write(`virtual-kubelet: ${warning}\n`);
  if (renderEnvironmentFile(plan) !== undefined) {
    const names = carried.secretVariables.map(({ name }) => name).join(", ");
    context.stderr.write(
      `virtual-kubelet: variables that may contain secrets are not printed; service install writes them to ${target.environmentFile}: ${names}\n`,
    );
  }
  context.stdout.write(unit);
}

async function install(line: CommandLine, context: Context, machine: Machine): Promise<void> {
  const { signal, stderr, stdout } = context;
  const { plan, loaded, planned, warnings } = await untilAborted(
    (async () => {
      // The scope is known without the settings, whose files root alone may be able to read.
      await checkSystemd(serviceTarget(line, [], context), context, machine);
      return await planService(line, context);
    })(),
    signal,
  );
  const { target, runAsUser } = plan;
  const unit = renderUnit(plan);
  const environment = renderEnvironmentFile(plan);
  if (runAsUser !== undefined && (await machine.run("id", ["-u", runAsUser], signal)).code !== 0)
    throw new UsageError(`--run-as-user: ${JSON.stringify(runAsUser)}: expected a user of this machine; useradd --system creates one`);
  const found = await untilAborted(checkRun(planned, loaded, context), signal);
  // The ports and the lock of a unit that runs already are its own.
  const isPresent = (await machine.read(target.unitFile)) !== undefined;
  for (const warning of [...warnings, ...(isPresent ? [] : found)]) stderr.write(`virtual-kubelet: ${warning}\n`);

  const isStarted = !isOn(line, "no-start");
  await installService({ target, unit, environment, isStarted, force: isOn(line, "force") }, dependenciesOf(context, machine));
  stdout.write(nextSteps(target, isStarted));
}

async function uninstall(line: CommandLine, context: Context, machine: Machine): Promise<void> {
  const { merged } = await untilAborted(readLayers(line, context), context.signal);
  const nodes = valueAt(merged.value, ["nodes"]);
  const names = (Array.isArray(nodes) ? nodes : []).map((node) => String(valueAt(node, ["name"]) ?? defaults.nodeName));
  const target = serviceTarget(line, names, context);
  await checkSystemd(target, context, machine);
  await uninstallService(target, dependenciesOf(context, machine));
  context.stdout.write(
    [
      "",
      `The certificates of the nodes stay in ${stateFolder(target, context)}; remove them with rm -r.`,
      "The Node stays in the cluster; remove it with kubectl delete node NODE.",
      "",
    ].join("\n"),
  );
}

interface PlannedService {
  readonly plan: ServicePlan;
  readonly loaded: LoadedSettings;
  readonly planned: readonly PlannedNode[];
  readonly warnings: readonly string[];
}

/** Reads and checks the settings. @throws ConfigError or UsageError with one line for each problem */
async function planService(line: CommandLine, context: Context): Promise<PlannedService> {
  const runAsUser = valueOf(line, "run-as-user");
  if (runAsUser !== undefined && !/^[A-Za-z0-9_][\w.-]*\$?$/.test(runAsUser))
    throw new UsageError(`--run-as-user: ${JSON.stringify(runAsUser)}: expected the name of a user, such as virtual-kubelet`);
  const loaded = await loadSettings(line, context);
  const planned = await planNodes(loaded, context);
  const { settings } = loaded;
  const { invocation, cwd } = context;
  const isElsewhere = settings.nodes.some(({ provider }) => !builtInProvider(provider) && !isAbsolute(provider));
  const plan: ServicePlan = {
    target: serviceTarget(
      line,
      settings.nodes.map(({ name }) => name),
      context,
    ),
    invocation,
    carried: carriedSettings(
      line,
      loaded,
      planned.map(({ setup }) => setup),
      context,
    ),
    nodes: planned.map(({ options, setup }, index) => ({
      name: options.name,
      provider: setup.definition.name,
      isBuiltIn: builtInProvider(settings.nodes[index]?.provider ?? "") !== undefined,
    })),
    workingDirectory: isElsewhere ? cwd : undefined,
    runAsUser,
    shutdownTimeoutMs: ms(settings.shutdownTimeout) ?? 0,
  };
  const paths = [...new Set([vanishingPath(invocation.node), vanishingPath(invocation.program)])];
  return { plan, loaded, planned, warnings: [...loaded.warnings, ...paths.filter((text) => text !== undefined)] };
}

function dependenciesOf({ stdout, clock, signal }: Context, machine: Machine): ServiceDependencies {
  return { machine, say: (text) => stdout.write(`${text}\n`), clock, signal };
}

function nextSteps(target: ServiceTarget, isStarted: boolean): string {
  const systemctl = (verb: string): string => `  ${systemctlCommand(target, [verb, target.name])}`;
  return [
    "",
    ...(isStarted ? ["See what it does:", systemctl("status"), `  ${journalCommand(target)} -f`] : ["Start it:", systemctl("start")]),
    ...(target.scope === "user" ? ["Let it run while you are not logged in:", "  loginctl enable-linger"] : []),
    "",
  ].join("\n");
}

/** Folder in which a unit of the scope has its state. */
function stateFolder({ scope }: ServiceTarget, { env, homeDir }: Pick<Context, "env" | "homeDir">): string {
  const variables = scope === "user" ? { XDG_STATE_HOME: env["XDG_STATE_HOME"] } : {};
  return stateDirectory({ env: variables, homeDir, isRoot: scope === "system" });
}
