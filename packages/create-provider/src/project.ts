/** What a new provider is called, and where it goes. */
export interface Project {
  /** What the provider calls itself: `my-cloud`. */
  readonly name: string;
  /** One line. */
  readonly description: string;
  /** Name of its npm package. */
  readonly packageName: string;
  /** Folder to write, relative or absolute. */
  readonly directory: string;
}

/** What a provider of that name is called where nothing else is said. The folder is called as the package, without its scope. */
export function defaultsFor(name: string, packageName: string = `virtual-kubelet-provider-${name}`): Project {
  return {
    name,
    description: `Virtual Kubelet provider for ${name}`,
    packageName,
    directory: packageName.replace(/^@[^/]*\//, ""),
  };
}
