import { kinds, type Kind } from "./kind.ts";

/** Description, names and location of a new provider. */
export interface Project {
  readonly kind: Kind;
  /** Name of the provider, such as `my-cloud`. */
  readonly name: string;
  /** One line. */
  readonly description: string;
  /** Name of its npm package. */
  readonly packageName: string;
  /** Folder to write, relative or absolute. */
  readonly directory: string;
  /** Folder of packed packages to install instead of published ones, relative or absolute. */
  readonly tarballs?: string | undefined;
}

/** Defaults for a provider with the given name. The folder's default is the package's name without its scope. */
export function defaultsFor(name: string, packageName: string = `virtual-kubelet-provider-${name}`): Project {
  return {
    kind: kinds[0],
    name,
    description: `Virtual Kubelet provider for ${name}`,
    packageName,
    directory: packageName.replace(/^@[^/]*\//, ""),
  };
}
