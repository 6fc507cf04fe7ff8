import type { ProviderDefinition } from "@virtual-kubelet/core";

/** A provider of this project. Its package is loaded on demand, and may be missing. */
export interface BuiltInProvider {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Absent for a provider whose package those who use it install, because it brings a cloud's own packages. */
  readonly load?: () => Promise<ProviderDefinition>;
  /** Variables that are no settings, from which the cloud's own library reads credentials and their places. Default: none. */
  readonly libraryVariables?: RegExp;
}

/** Scope of the project's own packages. `--provider docker` also finds `<scope>/provider-docker` if that is installed. */
export const packageScope = "@virtual-kubelet";

export const builtInProviders: readonly BuiltInProvider[] = [
  { name: "aci", aliases: ["azure"] },
  { name: "docker", aliases: [], load: async () => (await import("@virtual-kubelet/provider-docker")).provider },
  { name: "fargate", aliases: ["aws", "ecs"], libraryVariables: /^AWS_\w+$/ },
  {
    name: "kubernetes",
    aliases: ["cluster"],
    load: async () => (await import("@virtual-kubelet/provider-kubernetes")).provider,
  },
  { name: "mock", aliases: [], load: async () => (await import("@virtual-kubelet/provider-mock")).provider },
  { name: "nomad", aliases: [], load: async () => (await import("@virtual-kubelet/provider-nomad")).provider },
  {
    name: "zun",
    aliases: ["openstack", "openstack-zun"],
    load: async () => (await import("@virtual-kubelet/provider-zun")).provider,
  },
];

export function builtInProvider(name: string): BuiltInProvider | undefined {
  return builtInProviders.find((provider) => provider.name === name || provider.aliases.includes(name));
}

/** Loads a provider that comes with the program. @returns `undefined` if its package is not installed: all except the mock's are optional dependencies */
export async function loadBuiltIn({ name, load }: BuiltInProvider): Promise<ProviderDefinition | undefined> {
  try {
    return await load?.();
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    if (isMissing && error.message.includes(`'${packageScope}/provider-${name}'`)) return undefined;
    throw error;
  }
}
