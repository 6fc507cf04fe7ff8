import { kinds, type Kind } from "./kind.ts";

/** What a new provider is, what it is called, and where it goes. */
export interface Project {
  readonly kind: Kind;
  /** What the provider calls itself: `my-cloud`. */
  readonly name: string;
  /** One line. */
  readonly description: string;
  /** Name of its npm package. */
  readonly packageName: string;
  /** Folder to write, relative or absolute. */
  readonly directory: string;
  /** Folder of packed packages that are installed in place of published ones, relative or absolute. */
  readonly tarballs?: string | undefined;
}

/** What a provider of that name is called where nothing else is said. The folder is called as the package, without its scope. */
export function defaultsFor(name: string, packageName: string = `virtual-kubelet-provider-${name}`): Project {
  return {
    kind: kinds[0],
    name,
    description: `Virtual Kubelet provider for ${name}`,
    packageName,
    directory: packageName.replace(/^@[^/]*\//, ""),
  };
}
