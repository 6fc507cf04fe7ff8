import { instanceAnnotation, previewNode, releaseOf, type NodeOptions } from "@virtual-kubelet/core";
import { isForbidden, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import { resources, withDeadline, type KubeClient, type Lease, type Node } from "@virtual-kubelet/kube-client";
import type { Connection } from "../connect.ts";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context.ts";
import { describeNode, type TriedNode } from "../providers/try-provider.ts";

/** How long the API server may take to answer one question, in milliseconds. */
const requestTimeoutMs = 10_000;

/** What a run would do, and whether anything stands in its way. */
export interface DryRun {
  /** For people: it is no manifest, and kubectl refuses it. */
  readonly text: string;
  readonly isClear: boolean;
}

/** What is known of one node. */
interface NodeReport {
  readonly text: string;
  readonly isClear: boolean;
}

/** Reads what is there of the nodes in the cluster, asks their providers to describe them, and changes nothing. */
export async function dryRun(
  nodes: readonly TriedNode[],
  settings: Settings,
  { client, server }: Pick<Connection, "client" | "server">,
  context: Context,
): Promise<DryRun> {
  const reports: NodeReport[] = [];
  for (const node of nodes) reports.push(await reportOf(node, settings, client, context));
  const head = `Dry run: nothing is changed.\nAPI server: ${server}\n`;
  const advice = "Access rights and a Node to apply beforehand: virtual-kubelet manifests all\n";
  return { text: [head, ...reports.map(({ text }) => text), advice].join("\n"), isClear: reports.every(({ isClear }) => isClear) };
}

async function reportOf(tried: TriedNode, settings: Settings, client: KubeClient, context: Context): Promise<NodeReport> {
  const { setup } = tried;
  const options = await versioned(tried.options, client, context);
  const { description, problem } = await describeNode(tried, settings, context);
  const preview = previewNode(options, description, context.clock.now());
  const node = await read(context, `get node ${options.name}`, (signal) => client.get(resources.nodes, { name: options.name }, { signal }));
  const leaseName = { namespace: preview.lease.metadata?.namespace, name: options.name };
  const lease = await read(context, `get lease of node ${options.name}`, (signal) => client.get(resources.leases, leaseName, { signal }));
  const { stringify } = await import("yaml");
  const yaml = stringify(JSON.parse(JSON.stringify(preview.node)), { lineWidth: 0, aliasDuplicateObjects: false });
  const lines = [
    `Node ${options.name}, provider ${setup.definition.name}`,
    `  back end: ${problem === undefined ? "it describes the node" : `it could not describe the node: ${problem}`}`,
    `  node: ${describeFound(node, nodeState)}`,
    `  lease: ${describeFound(lease, (found) => leaseState(found, options))}`,
    "  as it would be written once it is ready:",
    "",
    yaml.trimEnd().replaceAll(/^/gm, "    "),
    "",
  ];
  const isClear =
    problem === undefined && node.kind !== "unknown" && lease.kind !== "unknown" && !isHeld(lease, options, context.clock.now());
  return { text: lines.join("\n"), isClear };
}

/** The options with the version that the node would report on this API server. */
async function versioned(options: NodeOptions, client: KubeClient, context: Context): Promise<NodeOptions> {
  const answer = await read(context, "get /version", (signal) => client.raw("GET", "/version", undefined, { signal }));
  const release = answer.kind === "there" ? releaseOf(answer.object) : undefined;
  return release === undefined ? options : { ...options, kubeletVersion: options.kubeletVersion ?? options.kubeletVersionOf?.(release) };
}

/** An object of the cluster, as far as it can be read. */
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
      return "not there; it would be created";
    case "unknown":
      return `not known: ${found.why}`;
  }
}

function nodeState({ metadata, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return `there since ${metadata?.creationTimestamp ?? "?"}, Ready is ${ready?.status ?? "not known"}; it would be adopted`;
}

function leaseState(lease: Lease, options: NodeOptions): string {
  const holder = identityOf(lease);
  const renewed = `last renewed ${lease.spec?.renewTime ?? "never"}`;
  if (holder === options.instance.identity) return `of this instance ("${holder}"), ${renewed}; it would be taken over at once`;
  const next = options.instance.standby ? "this instance would stand by" : "the run would end with exit code 78";
  const other = holder === undefined ? "of a kubelet that gives no instance identity" : `of another instance, "${holder}"`;
  return `${other}, ${renewed}; if it is renewed, ${next}; if not, it would be taken over when its time is up`;
}

/** Whether another instance seems to renew the Lease: by its own time, which may be another machine's. */
function isHeld(lease: Found<Lease>, { instance }: NodeOptions, nowMs: number): boolean {
  if (lease.kind !== "there" || instance.standby || identityOf(lease.object) === instance.identity) return false;
  const { renewTime, leaseDurationSeconds = 0 } = lease.object.spec ?? {};
  return renewTime !== undefined && nowMs - Date.parse(renewTime) < leaseDurationSeconds * 1000;
}

function identityOf({ metadata }: Lease): string | undefined {
  return metadata?.annotations?.[instanceAnnotation];
}
