import { renderConfigTable } from "@virtual-kubelet/testing/conformance";
import { scriptFields, scriptKeys } from "../providers/mock/src/script/script-fields.ts";

/** The keys of a provider's configuration, from its schema; `folder` is relative to the top. */
export async function renderProviderConfig(folder: string): Promise<string> {
  const { provider } = (await import(`../${folder}/src/index.ts`)) as {
    readonly provider: { readonly configSchema: { toJSONSchema?(options: { readonly io: "input" }): object } };
  };
  return renderConfigTable(provider.configSchema.toJSONSchema?.({ io: "input" }) ?? {});
}

/** The annotations that script a pod of the mock provider. */
export function renderScriptFields(): string {
  const rows = scriptKeys.map((key) => {
    const { annotation, option, expected, help } = scriptFields[key];
    return `| \`mock.virtual-kubelet.io/${annotation}\` | \`${option}\` | ${expected} | ${help} |`;
  });
  return ["| annotation | option | value | what happens |", "| --- | --- | --- | --- |", ...rows].join("\n");
}
