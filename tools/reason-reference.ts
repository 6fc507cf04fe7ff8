import { exitCodes } from "../packages/cli/src/exit-codes.ts";
import { allExplanations, type ExplainedProvider } from "../packages/cli/src/explain/all-explanations.ts";
import type { Explanation } from "../packages/cli/src/explain/explanation.ts";
import { firstOfEachList } from "../packages/cli/src/explain/find-explanations.ts";
import { configReasons } from "../packages/core/src/reasons/config-reasons.ts";
import { containerReasons } from "../packages/core/src/reasons/container-reasons.ts";
import { nodeReasons } from "../packages/core/src/reasons/node-reasons.ts";
import { podReasons } from "../packages/core/src/reasons/pod-reasons.ts";
import { builtInProviders } from "../packages/cli/src/providers/registry.ts";
import { podRuntimeReasons } from "../packages/pod-runtime/src/reasons.ts";
import { code, table } from "./markdown-table.ts";

/** Everything that `explain` knows, with the built-in providers. */
export async function referenceExplanations(): Promise<readonly Explanation[]> {
  const providers = builtInProviders.map(async ({ name }): Promise<ExplainedProvider> => {
    const module = (await import(`../providers/${name}/src/index.ts`)) as { readonly provider: ExplainedProvider };
    return module.provider;
  });
  return allExplanations(await Promise.all(providers));
}

/** Error codes, each with a heading, so that it can be linked. */
export function renderErrorCodes(all: readonly Explanation[]): string {
  return all
    .filter(({ kind }) => kind === "error code")
    .map(renderEntry)
    .join("\n\n");
}

/** Exit codes, each with a heading. */
export function renderExitCodeEntries(all: readonly Explanation[]): string {
  const entries = all.filter(({ kind }) => kind === "exit code");
  if (entries.length !== Object.keys(exitCodes).length) throw new RangeError("an exit code has no explanation");
  return entries.map((entry) => renderEntry({ ...entry, name: `Exit code ${entry.name}`, where: [] })).join("\n\n");
}

/** Reasons by who writes them; each has a heading, so that it can be linked. */
export function renderReasons(all: readonly Explanation[]): string {
  const reasons = all.filter(({ kind }) => kind === "reason");
  const isIn = (catalogue: object) => (entry: Explanation) => entry.writtenBy.includes("core") && Object.hasOwn(catalogue, entry.name);
  const isOfRuntime = ({ name, writtenBy }: Explanation): boolean =>
    writtenBy.includes("docker") && !writtenBy.includes("core") && Object.hasOwn(podRuntimeReasons, name);
  const own =
    ({ name: provider }: { readonly name: string }) =>
    (entry: Explanation) =>
      entry.writtenBy.includes(provider) && !entry.writtenBy.includes("core") && !isOfRuntime(entry);
  const sections: readonly (readonly [title: string, belongs: (entry: Explanation) => boolean])[] = [
    ["Pods", isIn(podReasons)],
    ["Containers", isIn(containerReasons)],
    ["ConfigMaps, Secrets and volumes", isIn(configReasons)],
    ["The node", isIn(nodeReasons)],
    ["Pods on a container engine: the provider docker", isOfRuntime],
    ...builtInProviders.map((provider) => [`The provider ${provider.name}`, own(provider)] as const),
  ];
  return sections.map(([title, belongs]) => `## ${title}\n\n${reasons.filter(belongs).map(renderEntry).join("\n\n")}`).join("\n\n");
}

/** Conditions that Kubernetes does not have, each with a heading. */
export function renderConditions(all: readonly Explanation[]): string {
  return all
    .filter(({ kind }) => kind === "condition")
    .map(renderEntry)
    .join("\n\n");
}

/** Fields for which a pod may be refused. Those of init and ephemeral containers are the same as of containers. */
export function renderFields(all: readonly Explanation[]): string {
  const fields = firstOfEachList(all.filter(({ kind }) => kind === "field"));
  return table(
    ["Field", "Meaning"],
    fields.map(({ name, meaning }) => [code(name), meaning]),
  );
}

function renderEntry({ name, where, meaning, remedy }: Explanation): string {
  const place = where.length === 0 ? "" : `*${capitalised(where.join("; "))}.* `;
  return `### ${name.replaceAll("*", "\\*")}\n\n${place}${meaning}\n\n**What to do:** ${remedy}`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
