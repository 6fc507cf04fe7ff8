import { previewNode } from "@virtual-kubelet/core";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context.ts";
import { ConfigError } from "../program-error.ts";
import { provisionsVolumes, type ProviderSetup } from "../providers/provider-setup.ts";
import type { TriedDescription, TriedNode } from "../providers/try-provider.ts";
import {
  nodeRights,
  serviceAccountRights,
  type AccessNeeds,
  type ExplainedObject,
  type KubeletApiNeeds,
  type RunAs,
} from "./access-rights.ts";

/** A manifest: what a reader must know first, then its objects. */
export interface Manifest {
  readonly head: readonly string[];
  readonly objects: readonly ExplainedObject[];
}

/**
 * The access rights of the program.
 *
 * @param namespaces - the only ones of a service account; default: all
 * @param setups - the nodes' providers
 * @throws ConfigError for several nodes that are to be one node's identity
 */
export function rightsManifest(
  settings: Settings,
  runAs: RunAs,
  namespaces: readonly string[] | undefined,
  setups: readonly ProviderSetup[],
): Manifest {
  const needs: AccessNeeds = {
    nodes: settings.nodes.map(({ name, onShutdown }) => ({ name, onShutdown })),
    readsClusterId: settings.cluster.id === undefined,
    provisionsVolumes: setups.some(provisionsVolumes),
    kubeletApi: kubeletApiNeeds(settings),
  };
  if (runAs === "service-account") return { head: serviceAccountHead(namespaces), objects: serviceAccountRights(needs, namespaces) };
  const [node, second] = needs.nodes;
  if (!node) throw new RangeError("the settings have no node");
  if (second)
    throw new ConfigError(
      `--run-as: "node": system:node:${node.name} can be node ${node.name} only, and the configuration has ${needs.nodes.length} nodes: ` +
        "run a program for each, or print the rights of one for all with --run-as=service-account",
    );
  return { head: nodeHead(node.name), objects: nodeRights(node, needs) };
}

/**
 * The Node as an administrator may create it beforehand, with the labels and taints that a node's own user may not set. It has no
 * status, so nothing takes it for a node that runs.
 */
export function nodeManifest(
  { options }: TriedNode,
  { description, problem }: TriedDescription,
  { clock }: Pick<Context, "clock">,
): Manifest {
  const { apiVersion, kind, metadata, spec } = previewNode(options, description, clock.now()).node;
  const object = JSON.parse(JSON.stringify({ apiVersion, kind, metadata, spec })) as ExplainedObject["object"];
  const note = problem === undefined ? "" : `; the provider could not describe it: ${problem}`;
  return { head: [], objects: [{ why: `the Node, without a status: it becomes Ready when the program runs${note}`, object }] };
}

/** YAML that kubectl applies. It reads YAML 1.1, where `no` and `on` are bools: a label or a name such as these is put in quotes. */
export async function renderManifests(manifests: readonly Manifest[]): Promise<string> {
  const { stringify } = await import("yaml");
  const comment = (line: string): string => `# ${line}\n`;
  const head = manifests.flatMap((manifest) => manifest.head).map(comment);
  const objects = manifests
    .flatMap((manifest) => manifest.objects)
    .map(({ why, object }) => comment(why) + stringify(object, { lineWidth: 0, aliasDuplicateObjects: false, compat: "yaml-1.1" }));
  return `${head.join("")}${objects.join("---\n")}`;
}

/** The same as one `List`, which kubectl applies, too; without comments. */
export function toList(manifests: readonly Manifest[]): object {
  return { apiVersion: "v1", kind: "List", items: manifests.flatMap(({ objects }) => objects.map(({ object }) => object)) };
}

function nodeHead(name: string): readonly string[] {
  return [
    `For a program whose certificate says system:node:${name}, group system:nodes. The Node authorizer grants the rest, and keeps it to`,
    `the Node, the Lease and the pods of ${name}, and to the secrets that those pods name.`,
  ];
}

function serviceAccountHead(namespaces: readonly string[] | undefined): readonly string[] {
  const where = namespaces === undefined ? "of the cluster" : `of the namespaces ${namespaces.join(", ")}`;
  const there = namespaces === undefined ? "" : " there";
  return [
    `WARNING: whoever has these rights reads every Secret ${where}, and makes tokens for every service account${there}.`,
    `They also reach every pod${there}, those of other nodes too. --run-as=node needs none of that.`,
  ];
}

function kubeletApiNeeds({ kubelet, nodes }: Settings): KubeletApiNeeds | undefined {
  if (nodes.every(({ kubeletPort }) => kubeletPort === 0)) return undefined;
  return {
    tokenReviews: kubelet.authenticationTokenWebhook,
    subjectAccessReviews: kubelet.authorizationMode === "Webhook",
    publishedClientCa: kubelet.clientCAFile === undefined,
    servingCertificate: kubelet.tlsCertFile === undefined && kubelet.serverTLSBootstrap,
  };
}
