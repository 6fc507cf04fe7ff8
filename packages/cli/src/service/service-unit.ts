import { exitCodes } from "../exit-codes.ts";
import type { Invocation } from "../context.ts";
import type { CarriedSettings } from "./carried-settings.ts";
import { providerUnit, sandboxLines } from "./sandbox.ts";
import type { ServiceTarget } from "./service-target.ts";
import { commandPath, commandWord, environmentFileLine, environmentWord, restOfLine } from "./systemd-text.ts";

/** A node that the unit runs. */
interface ServedNode {
  readonly name: string;
  /** Name of the provider. */
  readonly provider: string;
  /** Whether the provider comes with the program. */
  readonly isBuiltIn: boolean;
}

/** Everything that a unit is made of. */
export interface ServicePlan {
  readonly target: ServiceTarget;
  readonly invocation: Invocation;
  readonly carried: CarriedSettings;
  readonly nodes: readonly ServedNode[];
  /** Folder in which providers that are not built in are looked for; `undefined` if there are none. */
  readonly workingDirectory: string | undefined;
  /** `undefined`: root, or the user of the user's systemd. */
  readonly runAsUser: string | undefined;
  readonly shutdownTimeoutMs: number;
}

/** First line of each file that this program writes. Files without it are not removed. */
export const marker = "# Written by virtual-kubelet service install.";

/** Time for the process to end after the nodes have stopped, in seconds. */
const stopSlackSeconds = 15;

/** Number of nodes that are named in the description. */
const maxNodesNamed = 3;

/**
 * Text of the unit.
 *
 * @throws UsageError for a value that a unit cannot have
 */
export function renderUnit(plan: ServicePlan): string {
  const { target, carried, nodes, workingDirectory, runAsUser, shutdownTimeoutMs } = plan;
  const isSystem = target.scope === "system";
  const providers = [...new Set(nodes.map(({ provider, isBuiltIn }) => (isBuiltIn ? provider : "")))].map(providerUnit);
  // A user's systemd does not know the units of the machine.
  const after = isSystem ? ["network-online.target", ...providers.flatMap((provider) => provider.after)] : [];
  return `${[
    marker,
    `# Changes to this file are lost when it is written again; systemctl ${isSystem ? "" : "--user "}edit ${target.name} keeps them elsewhere.`,
    "[Unit]",
    `Description=${restOfLine(describe(nodes))}`,
    "Documentation=https://github.com/virtual-kubelet/virtual-kubelet-ts",
    ...(isSystem ? ["Wants=network-online.target"] : []),
    ...(after.length > 0 ? [`After=${after.join(" ")}`] : []),
    "# The program waits for a cluster and a back end that do not answer; systemd never gives up either.",
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    "Type=exec",
    `ExecStart=${command(plan).join(" ")}`,
    ...carried.variables.map(({ name, value }) => `Environment=${environmentWord(name, value)}`),
    ...(carried.secretVariables.length > 0 ? [`EnvironmentFile=${restOfLine(target.environmentFile)}`] : []),
    ...(workingDirectory === undefined ? [] : [`WorkingDirectory=${restOfLine(workingDirectory)}`]),
    ...(runAsUser === undefined ? [] : [`User=${runAsUser}`]),
    `SyslogIdentifier=${target.name}`,
    "Restart=always",
    "RestartSec=5",
    "# An invalid command line or setting: a restart does not help.",
    `RestartPreventExitStatus=${exitCodes.usage.code} ${exitCodes.config.code}`,
    "# The program passes the first signal on to its nodes and waits for them.",
    "KillMode=mixed",
    `TimeoutStopSec=${Math.ceil(shutdownTimeoutMs / 1000) + stopSlackSeconds}`,
    // A user's systemd puts the folder elsewhere than the program does for a user.
    ...(isSystem ? ["StateDirectory=virtual-kubelet", "StateDirectoryMode=0700"] : []),
    ...sandboxLines(target.scope, providers),
    "",
    "[Install]",
    `WantedBy=${isSystem ? "multi-user.target" : "default.target"}`,
  ].join("\n")}\n`;
}

/** Text of the file with variables that may contain secrets; `undefined` if there are none. @throws UsageError */
export function renderEnvironmentFile({ carried }: ServicePlan): string | undefined {
  if (carried.secretVariables.length === 0) return undefined;
  return `${[marker, ...carried.secretVariables.map(({ name, value }) => environmentFileLine(name, value))].join("\n")}\n`;
}

function command({ invocation, carried }: ServicePlan): string[] {
  const { node, nodeFlags, program } = invocation;
  return [commandPath(node), ...[...nodeFlags, program, "run", ...carried.flags].map(commandWord)];
}

function describe(nodes: ServicePlan["nodes"]): string {
  const named = nodes.slice(0, maxNodesNamed).map(({ name, provider }) => `${name} (${provider})`);
  const more = nodes.length > maxNodesNamed ? ` and ${nodes.length - maxNodesNamed} more` : "";
  return `Virtual Kubelet: ${nodes.length === 1 ? "node" : "nodes"} ${named.join(", ")}${more}`;
}
