import type { Pod } from "@virtual-kubelet/kube-client";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const providersFolder = join(import.meta.dirname, "../../../providers");

/** Folder of a provider's package. */
export function packageFolder(provider: string): string {
  return join(providersFolder, provider);
}

/** Documents in YAML of a provider's README, in order. */
function yamlOf(provider: string): readonly unknown[] {
  const readme = readFileSync(join(packageFolder(provider), "README.md"), "utf8");
  return [...readme.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => parse(text) as unknown);
}

/** The first pod of a provider's README. @throws Error if there is none */
export function readmePod(provider: string): Pod {
  const isPod = (value: unknown): value is Pod => (value as { readonly kind?: unknown } | null)?.kind === "Pod";
  const pod = yamlOf(provider).find(isPod);
  if (pod === undefined) throw new Error(`the README of the provider ${provider} has no pod`);
  return pod;
}

/** The provider's configuration of its README: the first document that has this field. @throws Error if there is none */
export function readmeConfig(provider: string, field: string): Readonly<Record<string, unknown>> {
  const config = yamlOf(provider).find((value) => typeof value === "object" && value !== null && field in value);
  if (config === undefined) throw new Error(`the README of the provider ${provider} has no configuration with ${field}`);
  return config as Readonly<Record<string, unknown>>;
}
