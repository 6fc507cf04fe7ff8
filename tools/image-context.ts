import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { packPackages } from "./packed-packages.ts";
import { programName, scope } from "./scope.ts";
import { root } from "./workspace.ts";

/** Build context of a container image. */
export interface ImageContext {
  /** Absolute path of the folder, which contains `app/` and, of the embedded API server, `volumes/`. */
  readonly folder: string;
  /** Version of the package. */
  readonly version: string;
}

/** Dockerfiles of the images by name, relative to the top. */
export const dockerfiles = {
  "virtual-kubelet": "deploy/image/Dockerfile",
  "embedded-apiserver": "deploy/image/embedded-apiserver.Dockerfile",
} as const;

/** Name of an image, without a registry. */
export type ImageName = keyof typeof dockerfiles;

/** @throws Error that names the images that exist */
export function imageNamed(name: string): ImageName {
  if (name in dockerfiles) return name as ImageName;
  throw new Error(`IMAGE: "${name}": expected ${Object.keys(dockerfiles).join(" or ")}`);
}

/**
 * Packs the program and installs it, as a user of npm would, into a folder that is the build context of the image. Packages of others have
 * the versions of the workspace's lockfile.
 *
 * @param providers - providers that are not part of the program, by name, such as `aci`
 * @param folder - folder of the context; default: `.reports/image`
 * @throws Error with the output of what failed, or with the name of a provider that does not exist
 */
export async function makeImageContext(
  providers: readonly string[] = [],
  folder: string = join(root, ".reports/image"),
): Promise<ImageContext> {
  return await makeContext(folder, (packed) => [programName, ...providers.map((name) => providerPackage(name, packed))]);
}

/**
 * Packs and installs the embedded API server, as {@link makeImageContext} does it with the program.
 *
 * @param folder - folder of the context; default: `.reports/apiserver-image`
 */
export async function makeApiServerContext(folder: string = join(root, ".reports/apiserver-image")): Promise<ImageContext> {
  const context = await makeContext(folder, () => [`${scope}/embedded-apiserver`]);
  const kubeconfigs = join(folder, "volumes/kubeconfig");
  mkdirSync(kubeconfigs, { recursive: true });
  // Like /tmp, because the container may run as any user.
  chmodSync(kubeconfigs, 0o1777);
  return context;
}

/** @param installedOf - names of the packages to install, the main one first, from the names of all packages */
async function makeContext(folder: string, installedOf: (packed: readonly string[]) => readonly string[]): Promise<ImageContext> {
  const { packages, tarballs, pnpm } = await packPackages();
  const installed = installedOf(Object.keys(tarballs));
  const app = join(folder, "app");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(app, { recursive: true });
  const version = packages.find(({ owner }) => owner.manifest.name === installed[0])?.owner.manifest.version;
  if (version === undefined) throw new Error(`none of the packed packages is ${installed[0] ?? "named"}`);
  const manifest = {
    name: "image",
    version,
    private: true,
    type: "module",
    dependencies: Object.fromEntries(installed.map((name) => [name, tarballs[name]])),
  };
  writeFileSync(join(app, "package.json"), JSON.stringify(manifest, undefined, 2));
  const overrides = { ...lockedVersions(readFileSync(join(root, "pnpm-lock.yaml"), "utf8")), ...tarballs };
  writeFileSync(join(app, "pnpm-workspace.yaml"), `nodeLinker: hoisted\noverrides: ${JSON.stringify(overrides)}\n`);
  const { code, output } = await pnpm(
    ["install", "--prod", "--prefer-offline", "--ignore-scripts", "--no-frozen-lockfile", "--package-import-method=copy"],
    app,
  );
  if (code !== 0) throw new Error(`cannot install the packed program into ${app}:\n${output}`);
  // What only the installation needed; the paths in it are this machine's.
  for (const name of [
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "node_modules/.modules.yaml",
    "node_modules/.pnpm",
    "node_modules/.pnpm-workspace-state-v1.json",
  ])
    rmSync(join(app, name), { recursive: true, force: true });
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "image", version, private: true, type: "module" }, undefined, 2));
  return { folder, version };
}

/**
 * Name of a provider's package.
 *
 * @param packed - names of all packages of this project
 * @throws Error that names the providers that exist
 */
export function providerPackage(name: string, packed: readonly string[]): string {
  const prefix = `${scope}/provider-`;
  if (packed.includes(`${prefix}${name}`)) return `${prefix}${name}`;
  const known = packed.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
  throw new Error(`PROVIDERS: "${name}": expected names of ${known.join(", ")}`);
}

/** Versions of packages of which a lockfile has only one. */
export function lockedVersions(lockfile: string): Readonly<Record<string, string>> {
  const { packages = {} } = parse(lockfile) as { readonly packages?: Readonly<Record<string, unknown>> };
  const versions = new Map<string, string[]>();
  for (const id of Object.keys(packages)) {
    const at = id.lastIndexOf("@");
    versions.set(id.slice(0, at), [...(versions.get(id.slice(0, at)) ?? []), id.slice(at + 1)]);
  }
  const single = [...versions].filter(([, [version = "", ...others]]) => others.length === 0 && /^\d/.test(version));
  return Object.fromEntries(single.map(([name, [version = ""]]) => [name, version]));
}
