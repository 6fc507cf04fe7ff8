import { previewNode, type NodeDescription, type NodeOptions, type Provider, type ProviderHost } from "@virtual-kubelet/core";
import { messageOf, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context.ts";
import type { ProviderSetup } from "../providers/provider-setup.ts";
import { accessRights, type ExplainedObject, type KubeletApiNeeds } from "./access-rights.ts";

/** How long a back end may take to describe its node. */
const describeTimeoutMs = 10_000;

/** A node that would be run. */
export interface PlannedNode {
  readonly setup: ProviderSetup;
  readonly options: NodeOptions;
}

/**
 * What `--dry-run` prints: the Nodes, their Leases and the rights to make them, as YAML that kubectl takes. The API
 * server is not talked to; a back end is asked to describe its node, and nothing else.
 */
export async function dryRunYaml(nodes: readonly PlannedNode[], settings: Settings, context: Context): Promise<string> {
  const objects: ExplainedObject[] = [];
  for (const planned of nodes) {
    const { description, problem } = await describe(planned, settings, context);
    const { node, lease } = previewNode(planned.options, description, context.clock.now());
    const note = problem === undefined ? "" : `; the provider could not describe it: ${problem}`;
    objects.push({ why: `the node${note}`, object: toPlain(node) }, { why: "its lease", object: toPlain(lease) });
  }
  const needs = settings.nodes.map(({ name, onShutdown }) => ({ name, onShutdown }));
  const readsClusterId = settings.cluster.id === undefined;
  objects.push(...accessRights({ nodes: needs, readsClusterId, kubeletApi: kubeletApiNeeds(settings) }));
  const { stringify } = await import("yaml");
  return objects.map(({ why, object }) => `# ${why}\n${stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })}`).join("---\n");
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

async function describe(
  { setup, options }: PlannedNode,
  settings: Settings,
  context: Context,
): Promise<{ description: NodeDescription; problem?: string }> {
  const { clock } = context;
  const deadline = new AbortController();
  using _timer = clock.setTimer(describeTimeoutMs, () =>
    deadline.abort(new UnavailableError(`no answer within ${describeTimeoutMs / 1000} s`)),
  );
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  let provider: Provider | undefined;
  try {
    provider = await setup.definition.create(offlineHost(options, settings, context), parsedConfig(setup));
    return { description: (await provider.configureNode?.(signal)) ?? {} };
  } catch (error) {
    return { description: {}, problem: messageOf(error).split("\n", 1)[0] ?? "" };
  } finally {
    await provider?.[Symbol.asyncDispose]?.();
  }
}

function parsedConfig({ definition, config }: ProviderSetup): unknown {
  const parsed = definition.configSchema.safeParse(config);
  return parsed.success ? parsed.data : config;
}

/** A host without a cluster. */
function offlineHost(options: NodeOptions, settings: Settings, { clock, random }: Context): ProviderHost {
  const refuse = (): Promise<never> => Promise.reject(new UnavailableError("a dry run has no cluster"));
  return {
    nodeName: options.name,
    clusterId: settings.cluster.id ?? "",
    nodeAddress: options.address ?? options.defaultAddress,
    clusterDomain: settings.cluster.domain,
    logger: silentLogger,
    metrics: noMetrics,
    clock,
    random,
    getSecret: refuse,
    getConfigMap: refuse,
    getServiceAccountToken: refuse,
    resolvePod() {
      throw new NotFoundError("a dry run has no pods");
    },
    findPod: () => undefined,
    recordEvent() {},
  };
}

/** As JSON has it: what is undefined is not there. */
function toPlain(object: object): ExplainedObject["object"] {
  return JSON.parse(JSON.stringify(object)) as ExplainedObject["object"];
}
