import { extname } from "node:path";
import { loadSettings, type LoadedSettings } from "../config/load-settings.ts";
import { readText } from "../config/read-file.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { choiceOf, valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { deploymentObjects, type ProviderFile } from "../manifests/deployment.ts";
import {
  combinedBackEndManifest,
  nodeManifest,
  renderManifests,
  rightsManifest,
  toList,
  type Manifest,
} from "../manifests/render-manifests.ts";
import { namespacesOf } from "../manifests/namespaces.ts";
import { planNodes, type PlannedNode } from "../nodes/plan-nodes.ts";
import { UsageError } from "../program-error.ts";
import { discoversNodes } from "../providers/provider-setup.ts";
import { builtInProvider } from "../providers/registry.ts";
import { tryDescription } from "../providers/try-provider.ts";

/**
 * `manifests rbac|node|all|deployment|far`: YAML for `kubectl apply`. It does not contact the cluster, but it asks the back end for the node's
 * labels. `far` is for the cluster that is the back end.
 */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const isDeployment = line.args[0] === "deployment";
  const runAs = choiceOf(line, "run-as", isDeployment ? "service-account" : "node") === "node" ? "node" : "service-account";
  const deployed = isDeployment ? deploymentFlags(line, runAs) : undefined;
  const isJson = choiceOf(line, "output", "yaml") === "json";
  const namespaces = namespacesOf(line);
  if (namespaces !== undefined && runAs === "node")
    throw new UsageError(
      "--namespaces: needs --run-as=service-account, since the Node authorizer already restricts a node to its own pods",
    );
  const loaded = await loadSettings(line, context);
  for (const warning of loaded.warnings) context.stderr.write(`virtual-kubelet: ${warning}\n`);
  const manifests: Manifest[] = [];
  const nodes = await planNodes(loaded, context);
  const setups = nodes.map(({ setup }) => setup);
  if (line.args[0] === "far") manifests.push(combinedBackEndManifest(loaded.settings, setups));
  else if (line.args[0] !== "node") manifests.push(rightsManifest(loaded.settings, runAs, namespaces, setups));
  if (deployed) {
    for (const warning of podWarnings(loaded, nodes)) context.stderr.write(`virtual-kubelet: ${warning}\n`);
    manifests.push({ head: [], objects: await deploymentObjects({ ...deployed, ...(await contentOf(loaded)) }) });
  } else if (line.args[0] === "node" || line.args[0] === "all") {
    for (const node of nodes.filter(({ setup }) => !discoversNodes(setup)))
      manifests.push(nodeManifest(node, await tryDescription(node, loaded.settings, context), context));
  }
  if (isJson) {
    for (const text of manifests.flatMap(({ head }) => head)) context.stderr.write(`${text}\n`);
    context.stdout.write(`${JSON.stringify(toList(manifests), undefined, 2)}\n`);
  } else {
    context.stdout.write(await renderManifests(manifests));
  }
  return exitCodes.ok.code;
}

/** Flags of `manifests deployment`. @throws UsageError */
function deploymentFlags(line: CommandLine, runAs: string): { readonly image: string; readonly replicas: number } {
  if (runAs === "node")
    throw new UsageError(
      '--run-as: "node": expected service-account for a Deployment; the Helm chart can mount the kubeconfig of a node\'s user',
    );
  const image = valueOf(line, "image") ?? "";
  if (image === "" || /\s/.test(image))
    throw new UsageError(
      `--image: ${JSON.stringify(image)}: expected the image of the program, such as registry.example.com/virtual-kubelet:1.0; make image builds one`,
    );
  const text = valueOf(line, "replicas") ?? "1";
  if (!/^\d{1,3}$/.test(text)) throw new UsageError(`--replicas: ${JSON.stringify(text)}: expected a number of copies, such as 2`);
  return { image, replicas: Number(text) };
}

/** The configuration, with the providers' files. @throws ConfigError if one cannot be read */
async function contentOf(loaded: LoadedSettings): Promise<Omit<Parameters<typeof deploymentObjects>[0], "image" | "replicas">> {
  const { settings, merged, nameOf } = loaded;
  const providerFiles = new Map<number, ProviderFile>();
  for (const [index, { providerConfigFile: shown }] of settings.nodes.entries()) {
    const entry = loaded.entryOf(index).index;
    if (shown === undefined || providerFiles.has(entry)) continue;
    const path = ["nodes", index, "providerConfigFile"];
    const file = { path: loaded.resolvePath(path, shown), shown, setting: nameOf(path) };
    providerFiles.set(entry, { suffix: extname(shown), text: await readText(file) });
  }
  return { settings, config: merged.value, providerFiles, nameOf };
}

/** What the pod will lack that this machine has. */
function podWarnings({ settings }: LoadedSettings, nodes: readonly PlannedNode[]): string[] {
  return nodes.flatMap(({ options, setup: { filledIn } }, index) => {
    const provider = settings.nodes[index]?.provider ?? "";
    const variables = filledIn.map(({ field, variable }) => `${field} (${variable})`).join(", ");
    return [
      ...(builtInProvider(provider)
        ? []
        : [`node ${options.name}: provider ${JSON.stringify(provider)} is not built in: the image must contain it`]),
      ...(variables === ""
        ? []
        : [
            `node ${options.name}: environment variables of this machine complete the provider's configuration, and the pod lacks them: ${variables}`,
          ]),
    ];
  });
}
