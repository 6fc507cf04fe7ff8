import { loadSettings } from "../config/load-settings.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { choiceOf, valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { nodeManifest, renderManifests, rightsManifest, toList, type Manifest } from "../manifests/render-manifests.ts";
import { planNodes } from "../nodes/plan-nodes.ts";
import { UsageError } from "../program-error.ts";
import { tryDescription } from "../providers/try-provider.ts";

const namespacePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** `manifests rbac|node|all`: YAML for `kubectl apply`. It does not contact the cluster, but it asks the back end for the node's labels. */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const runAs = choiceOf(line, "run-as", "node") === "node" ? "node" : "service-account";
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
  if (line.args[0] !== "node") manifests.push(rightsManifest(loaded.settings, runAs, namespaces, setups));
  if (line.args[0] !== "rbac") {
    for (const node of nodes) manifests.push(nodeManifest(node, await tryDescription(node, loaded.settings, context), context));
  }
  if (isJson) {
    for (const text of manifests.flatMap(({ head }) => head)) context.stderr.write(`${text}\n`);
    context.stdout.write(`${JSON.stringify(toList(manifests), undefined, 2)}\n`);
  } else {
    context.stdout.write(await renderManifests(manifests));
  }
  return exitCodes.ok.code;
}

function namespacesOf(line: CommandLine): readonly string[] | undefined {
  const text = valueOf(line, "namespaces");
  if (text === undefined) return undefined;
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  const wrong = names.find((name) => !namespacePattern.test(name));
  if (wrong !== undefined)
    throw new UsageError(`--namespaces: ${JSON.stringify(wrong)}: expected names of namespaces, such as team-a,team-b`);
  return names;
}
