import { previewNode, type ExplainedObject } from "@virtual-kubelet/core";
import { isDeepStrictEqual } from "node:util";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context.ts";
import { ConfigError } from "../program-error.ts";
import { backEndManifest, discoversNodes, neededRights, provisionsVolumes, type ProviderSetup } from "../providers/provider-setup.ts";
import type { TriedDescription, TriedNode } from "../providers/try-provider.ts";
import { nodeRights, serviceAccountRights, type AccessNeeds, type KubeletApiNeeds, type RunAs } from "./access-rights.ts";

/** A manifest: an introductory comment and objects. */
export interface Manifest {
  readonly head: readonly string[];
  readonly objects: readonly ExplainedObject[];
}

/**
 * What determines the program's access rights.
 *
 * @param setups - the nodes' providers, in the order of the nodes; `undefined` for one that is not known
 */
export function accessNeeds(settings: Settings, setups: readonly (ProviderSetup | undefined)[]): AccessNeeds {
  return {
    nodes: settings.nodes.map(({ name, onShutdown }, index) => ({ name, onShutdown, discovers: isDiscovering(setups[index]) })),
    sharesNodes: settings.instance.group !== undefined,
    readsClusterId: settings.cluster.id === undefined,
    provisionsVolumes: setups.some((setup) => setup !== undefined && provisionsVolumes(setup)),
    providerRights: setups.flatMap((setup) => (setup === undefined ? [] : neededRights(setup))),
    kubeletApi: kubeletApiNeeds(settings),
  };
}

/**
 * Access rights of the program.
 *
 * @param namespaces - restricts a service account; default: all
 * @param setups - the nodes' providers
 * @throws ConfigError if several nodes would have to share one node's identity, and if several instances would share the node
 */
export function rightsManifest(
  settings: Settings,
  runAs: RunAs,
  namespaces: readonly string[] | undefined,
  setups: readonly ProviderSetup[],
): Manifest {
  const needs = accessNeeds(settings, setups);
  if (runAs === "service-account") return { head: serviceAccountHead(namespaces), objects: serviceAccountRights(needs, namespaces) };
  const [node, second] = needs.nodes;
  if (!node) throw new RangeError("the settings have no node");
  if (second)
    throw new ConfigError(
      `--run-as: "node": system:node:${node.name} can only be node ${node.name}, but the configuration has ${needs.nodes.length} nodes: ` +
        "run a program for each, or print the rights of one for all with --run-as=service-account",
    );
  if (node.discovers === true)
    throw new ConfigError(
      `--run-as: "node": the provider of ${node.name} makes a virtual node for each node of its back end, but system:node:${node.name} ` +
        "can only be one node: print the rights of a service account with --run-as=service-account",
    );
  if (needs.sharesNodes === true)
    throw new ConfigError(
      `--run-as: "node": system:node:${node.name} has the lease of its node only, but the instances of group ` +
        `${JSON.stringify(settings.instance.group)} have leases of their own: print the rights of a service account with --run-as=service-account`,
    );
  return { head: nodeHead(node.name), objects: nodeRights(node, needs) };
}

/**
 * The Node for an administrator to create beforehand, with the labels and taints that a node's own user may not set. Without a status it
 * does not count as a running node.
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

/** Renders YAML for kubectl, which reads YAML 1.1: words such as `no` and `on`, which are booleans there, are quoted. */
export async function renderManifests(manifests: readonly Manifest[]): Promise<string> {
  const { stringify } = await import("yaml");
  const comment = (line: string): string => `# ${line}\n`;
  const head = manifests.flatMap((manifest) => manifest.head).map(comment);
  const objects = manifests
    .flatMap((manifest) => manifest.objects)
    .map(({ why, object }) => comment(why) + stringify(object, { lineWidth: 0, aliasDuplicateObjects: false, compat: "yaml-1.1" }));
  return `${head.join("")}${objects.join("---\n")}`;
}

/** The same as one `List`, which kubectl applies too; without comments. */
export function toList(manifests: readonly Manifest[]): object {
  return { apiVersion: "v1", kind: "List", items: manifests.flatMap(({ objects }) => objects.map(({ object }) => object)) };
}

function isDiscovering(setup: ProviderSetup | undefined): boolean {
  return setup !== undefined && discoversNodes(setup);
}

/**
 * What an administrator of the back ends applies there; the objects that several nodes share once.
 *
 * @throws ConfigError if no provider has such objects
 */
export function combinedBackEndManifest(settings: Settings, setups: readonly ProviderSetup[]): Manifest {
  const manifests = setups.flatMap((setup, index) => backEndManifest(setup, settings.nodes[index]?.name ?? "") ?? []);
  if (manifests.length === 0)
    throw new ConfigError(
      `far: expected a provider whose back end is a Kubernetes cluster of its own, such as kubernetes, got ${setups.map(({ definition }) => definition.name).join(", ")}`,
    );
  const objects = manifests.flatMap((manifest) => manifest.objects);
  return {
    head: [...new Set(manifests.flatMap(({ head }) => head))],
    objects: objects.filter(({ object }, index) => index === objects.findIndex((other) => isDeepStrictEqual(other.object, object))),
  };
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
    `WARNING: these rights allow reading every Secret ${where}, and making tokens for every service account${there}.`,
    `They also cover every pod${there}, including those of other nodes. --run-as=node needs none of that.`,
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
