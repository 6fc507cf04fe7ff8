import { planPod } from "@virtual-kubelet/core";
import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import { loadSettings } from "../config/load-settings.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { choiceOf, valuesOf, type CommandLine } from "../command-line/flag-parser.ts";
import { readManifests } from "../plan/read-manifests.ts";
import { renderPlan, withoutSecrets, type ShownPlan } from "../plan/render-plan.ts";
import { ProgramError, UsageError } from "../program-error.ts";
import { setUpProvider } from "../providers/provider-setup.ts";

/** Placeholder for the cluster's ID if the settings do not have it. */
const noClusterId = "00000000-0000-0000-0000-000000000000";

/**
 * `plan`: prints what the provider would send to its back end for the pods in a file, and for the first pod of each workload. Contacts neither
 * the cluster nor the back end.
 */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const files = valuesOf(line, "filename");
  if (files.length === 0) throw new UsageError("plan: missing --filename FILE with a pod or a workload");
  const format = choiceOf(line, "output", "text");
  const plans = await makePlans(line, files, context);
  if (format === "json") context.stdout.write(`${JSON.stringify(plans, undefined, 2)}\n`);
  else context.stdout.write(plans.map(renderPlan).join("\n"));
  return plans.some(({ refused }) => refused.length > 0) ? exitCodes.failure.code : exitCodes.ok.code;
}

async function makePlans(line: CommandLine, files: readonly string[], context: Context): Promise<readonly ShownPlan[]> {
  const loaded = await loadSettings(line, context);
  const { cluster, nodes } = loaded.settings;
  const [node] = nodes;
  if (!node) throw new RangeError("the settings have no node");
  const { definition, config } = await setUpProvider(loaded, 0, context);
  const { planned, configMaps, secrets, others } = await readManifests(files, context.cwd);
  for (const { kind, metadata } of others)
    context.stderr.write(`virtual-kubelet: plan: ${kind} ${metadata?.name ?? ""} is left out, because it makes no pods\n`);
  const { clock, signal } = context;
  // Loaded late, because the embedded API server is large.
  const { admitPods } = await import("../plan/admit-pods.ts");
  const plans: ShownPlan[] = [];
  for (const { pod, workload } of await admitPods(planned, { nodeName: node.name, clock }, signal)) {
    const { namespace = "default", name = "" } = pod.metadata ?? {};
    const inNamespace = (object: { readonly metadata?: { readonly namespace?: string | undefined } | undefined }): boolean =>
      (object.metadata?.namespace ?? "default") === namespace;
    const plan = await planPod(
      {
        pod,
        provider: definition,
        providerConfig: config,
        ignore: typeof node.onUnsupported === "string" ? [] : node.onUnsupported.ignore,
        objects: { configMaps: configMaps.filter(inNamespace), secrets: secrets.filter(inNamespace) },
        nodeName: node.name,
        clusterId: cluster.id ?? noClusterId,
        clusterDomain: cluster.domain,
      },
      signal,
    ).catch((error: unknown) => {
      throw isInvalidInput(error) ? new ProgramError(messageOf(error), exitCodes.failure.code, { cause: error }) : error;
    });
    const notes = [
      ...(workload === undefined ? [] : [`the first pod of ${workload}; those of the same template differ only in names`]),
      ...plan.notes,
      ...(cluster.id === undefined ? [`the cluster's id is unknown; ${noClusterId} is used instead`] : []),
    ];
    plans.push(withoutSecrets({ pod: `${namespace}/${name}`, node: node.name, provider: definition.name, ...plan, notes }));
  }
  return plans;
}
