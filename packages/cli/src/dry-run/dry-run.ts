import { withDeadline } from "@virtual-kubelet/async";
import { instanceAnnotation, previewNode, releaseOf, type NodePreview, type ResolvedNodeOptions } from "@virtual-kubelet/core";
import { isForbidden, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import { resources, type KubeClient, type Lease, type Node } from "@virtual-kubelet/kube-client";
import type { LoadedSettings } from "../config/load-settings.ts";
import type { Connection } from "../connect.ts";
import type { Context } from "../context.ts";
import { lockHolder } from "../nodes/node-lock.ts";
import { ownUser } from "../own-user.ts";
import { discoversNodes } from "../providers/provider-setup.ts";
import { tryDescription, type TriedNode } from "../providers/try-provider.ts";
import { certDirectoryOf } from "../kubelet-server/cert-directory.ts";

/** Timeout of a request to the API server, in milliseconds. */
const requestTimeoutMs = 10_000;

/** Result of a dry run. */
export interface DryRun {
  /** For people to read; kubectl rejects it as a manifest. */
  readonly text: string;
  readonly isClear: boolean;
}

/** Findings about one node. */
interface NodeReport {
  readonly text: string;
  readonly isClear: boolean;
}

interface DryRunOptions {
  readonly loaded: LoadedSettings;
  readonly client: KubeClient;
  readonly context: Context;
}

/** Reads the nodes' state in the cluster, and asks their providers for descriptions, without changing anything. */
export async function dryRun(
  nodes: readonly TriedNode[],
  loaded: LoadedSettings,
  { client, server }: Pick<Connection, "client" | "server">,
  context: Context,
): Promise<DryRun> {
  const deps = { loaded, client, context };
  const user = await read(context, "get the program's identity", (signal) => ownUser(client, signal));
  const userName = user.kind === "there" ? user.object : undefined;
  const reports: NodeReport[] = [];
  for (const node of nodes)
    reports.push(discoversNodes(node.setup) ? await reportOfDiscovery(node, deps) : await reportOf(node, userName, deps));
  const identity = userName ?? (user.kind === "unknown" ? `unknown: ${user.why}` : "unknown: the API server does not tell");
  const head = `Dry run: nothing is changed.\nAPI server: ${server}\nIdentity: ${identity}\n`;
  const advice = "To print access rights and a Node to apply beforehand: virtual-kubelet manifests all\n";
  return { text: [head, ...reports.map(({ text }) => text), advice].join("\n"), isClear: reports.every(({ isClear }) => isClear) };
}

/** Prefix of the user names of nodes. */
const nodeUserPrefix = "system:node:";

/** What a run would do for a node of the settings whose provider makes a node for each node of its back end. */
async function reportOfDiscovery(tried: TriedNode, { loaded, context }: DryRunOptions): Promise<NodeReport> {
  const { setup, options } = tried;
  const { name } = options;
  const { problem } = await tryDescription(tried, loaded.settings, context);
  const { directory } = certDirectoryOf(name, loaded, context);
  const holder = await lockHolder({ directory, nodeName: name, clock: context.clock });
  const lines = [
    `Nodes ${name}-…, one for each node of the back end, provider ${setup.definition.name}`,
    `  back end: ${problem === undefined ? "it answers" : `it does not answer: ${problem}`}`,
    ...(holder === undefined ? [] : [`  host: process ${holder} on this host is already running them; ${whileHeld(options)}`]),
    "",
  ];
  const isFree = holder === undefined || options.instance.standby === true;
  return { text: lines.join("\n"), isClear: problem === undefined && isFree };
}

async function reportOf(tried: TriedNode, userName: string | undefined, { loaded, client, context }: DryRunOptions): Promise<NodeReport> {
  const { setup } = tried;
  const options = await versioned(tried.options, client, context);
  const { name } = options;
  const { description, problem } = await tryDescription(tried, loaded.settings, context);
  const node = await read(context, `get node ${name}`, (signal) => client.get(resources.nodes, { name }, { signal }));
  const nodeUser = userName?.startsWith(nodeUserPrefix)
    ? { name: userName, current: node.kind === "there" ? node.object : undefined }
    : undefined;
  const preview = previewNode(options, description, context.clock.now(), nodeUser);
  const leaseName = { namespace: preview.lease.metadata?.namespace, name };
  const lease = await read(context, `get lease of node ${name}`, (signal) => client.get(resources.leases, leaseName, { signal }));
  const { directory } = certDirectoryOf(name, loaded, context);
  const holder = await lockHolder({ directory, nodeName: name, clock: context.clock });
  const isOthers = nodeUser !== undefined && nodeUser.name !== `${nodeUserPrefix}${name}`;
  const { stringify } = await import("yaml");
  const yaml = stringify(JSON.parse(JSON.stringify(preview.node)), { lineWidth: 0, aliasDuplicateObjects: false });
  const lines = [
    `Node ${name}, provider ${setup.definition.name}`,
    `  back end: ${problem === undefined ? "it describes the node" : `it could not describe the node: ${problem}`}`,
    `  node: ${describeFound(node, nodeState)}`,
    `  lease: ${describeFound(lease, (found) => leaseState(found, options, holder))}`,
    ...(holder === undefined ? [] : [`  host: process ${holder} on this host is already running the node; ${whileHeld(options)}`]),
    ...(isOthers ? [`  rights: the API server refuses node ${name} to ${nodeUser.name}, another node's user`] : []),
    ...refusedLines(preview, nodeUser?.name),
    "  as it would be written once it is ready:",
    "",
    yaml.trimEnd().replaceAll(/^/gm, "    "),
    "",
  ];
  const isFree = (holder === undefined || options.instance.standby === true) && !isHeld(lease, options, context.clock.now());
  const isClear = problem === undefined && node.kind !== "unknown" && lease.kind !== "unknown" && isFree && !isOthers;
  return { text: lines.join("\n"), isClear };
}

/** Labels and taints that NodeRestriction does not let the node's own user write. */
function refusedLines({ refused: { labels, taints } }: NodePreview, userName: string | undefined): string[] {
  const advice = "an administrator may: virtual-kubelet manifests node";
  return [
    ...(labels.length === 0 ? [] : [`  labels: ${labels.join(", ")}: omitted, because ${userName} may not set them; ${advice}`]),
    ...(taints ? [`  taints: those of the node are kept, because ${userName} may not change them; ${advice}`] : []),
  ];
}

/** The options with the version that the node would report on this API server. */
async function versioned(options: ResolvedNodeOptions, client: KubeClient, context: Context): Promise<ResolvedNodeOptions> {
  const answer = await read(context, "get /version", (signal) => client.raw("GET", "/version", undefined, { signal }));
  const release = answer.kind === "there" ? releaseOf(answer.object) : undefined;
  return release === undefined ? options : { ...options, kubeletVersion: options.kubeletVersion ?? options.kubeletVersionOf?.(release) };
}

/** An object of the cluster, or why it could not be read. */
type Found<T> =
  | { readonly kind: "there"; readonly object: T }
  | { readonly kind: "absent" }
  | { readonly kind: "unknown"; readonly why: string };

async function read<T>({ clock, signal }: Context, what: string, get: (signal: AbortSignal) => Promise<T>): Promise<Found<T>> {
  try {
    return { kind: "there", object: await withDeadline({ clock, timeoutMs: requestTimeoutMs, what }, signal, get) };
  } catch (error) {
    signal.throwIfAborted();
    if (isNotFound(error)) return { kind: "absent" };
    return { kind: "unknown", why: `${isForbidden(error) ? "the API server refuses it: " : ""}${messageOf(error).replaceAll("\n", " ")}` };
  }
}

function describeFound<T>(found: Found<T>, describe: (object: T) => string): string {
  switch (found.kind) {
    case "there":
      return describe(found.object);
    case "absent":
      return "does not exist; would be created";
    case "unknown":
      return `unknown: ${found.why}`;
  }
}

function nodeState({ metadata, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return `exists since ${metadata?.creationTimestamp ?? "?"}, Ready is ${ready?.status ?? "unknown"}; would be adopted`;
}

function whileHeld({ instance }: ResolvedNodeOptions): string {
  if (instance.group !== undefined) return "this instance would leave it to that one";
  return instance.standby ? "this instance would stand by" : "the run would end with exit code 78";
}

/** @param program - process ID of the program on this host that runs the node */
function leaseState(lease: Lease, options: ResolvedNodeOptions, program: string | undefined): string {
  const holder = identityOf(lease);
  const renewed = `last renewed ${lease.spec?.renewTime ?? "never"}`;
  if (holder === options.instance.identity) {
    // Another instance of the group, or a program in none, may have the same identity.
    const takeover = options.instance.group === undefined ? "would be taken over at once" : "would be taken over when it expires";
    const next = program === undefined ? takeover : `process ${program} holds it; ${whileHeld(options)}`;
    return `held by this instance ("${holder}"), ${renewed}; ${next}`;
  }
  const other = holder === undefined ? "held by a kubelet without an instance identity" : `held by another instance, "${holder}"`;
  return `${other}, ${renewed}; if it is renewed, ${whileHeld(options)}; otherwise, it would be taken over when it expires`;
}

/** Whether another instance seems to renew the Lease, judging by the renew time, which may come from another machine's clock. */
function isHeld(lease: Found<Lease>, { instance }: ResolvedNodeOptions, nowMs: number): boolean {
  if (lease.kind !== "there" || instance.standby || instance.group !== undefined || identityOf(lease.object) === instance.identity)
    return false;
  const { renewTime, leaseDurationSeconds = 0 } = lease.object.spec ?? {};
  return renewTime !== undefined && nowMs - Date.parse(renewTime) < leaseDurationSeconds * 1000;
}

function identityOf({ metadata }: Lease): string | undefined {
  return metadata?.annotations?.[instanceAnnotation];
}
