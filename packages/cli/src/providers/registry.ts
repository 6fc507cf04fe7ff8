import type { ProviderDefinition } from "@virtual-kubelet/core";

/** A provider that comes with the program. Its package is loaded when it is asked for. */
export interface BuiltInProvider {
  readonly name: string;
  readonly aliases: readonly string[];
  load(): Promise<ProviderDefinition>;
}

/** Scope of the project's own packages; `--provider docker` also finds `<scope>/provider-docker` where that is installed. */
export const packageScope = "@virtual-kubelet";

/** The providers that come with the program. */
export const builtInProviders: readonly BuiltInProvider[] = [
  { name: "docker", aliases: [], load: async () => (await import("@virtual-kubelet/provider-docker")).provider },
  { name: "mock", aliases: [], load: async () => (await import("@virtual-kubelet/provider-mock")).provider },
  { name: "nomad", aliases: [], load: async () => (await import("@virtual-kubelet/provider-nomad")).provider },
  {
    name: "zun",
    aliases: ["openstack", "openstack-zun"],
    load: async () => (await import("@virtual-kubelet/provider-zun")).provider,
  },
];

/** The built-in provider of that name or alias. */
export function builtInProvider(name: string): BuiltInProvider | undefined {
  return builtInProviders.find((provider) => provider.name === name || provider.aliases.includes(name));
}
