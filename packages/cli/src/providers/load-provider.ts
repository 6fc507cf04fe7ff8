import type { ProviderDefinition } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { didYouMean } from "../command-line/nearest.ts";
import { ConfigError } from "../program-error.ts";
import { builtInProvider, builtInProviders, loadBuiltIn, packageScope } from "./registry.ts";

export interface ProviderLookup {
  /** Base of relative paths, and of the search for `node_modules`. */
  readonly cwd: string;
  /** Setting that names the provider, such as `--provider`. */
  readonly setting: string;
}

/**
 * Finds a provider: a built-in one by its name or alias, or else an npm package installed in the working directory or beside the program,
 * or else a module or package folder by its path.
 *
 * @throws ConfigError on one line
 */
export async function loadProvider(name: string, lookup: ProviderLookup): Promise<ProviderDefinition> {
  const found = await findProvider(name, lookup);
  if (found) return found;
  throw notFound(name, lookup);
}

/**
 * Finds a provider like {@link loadProvider}.
 *
 * @returns `undefined` if there is none of that name
 * @throws ConfigError if it exists but cannot be loaded
 */
export async function findProvider(name: string, lookup: ProviderLookup): Promise<ProviderDefinition | undefined> {
  const builtIn = builtInProvider(name);
  if (builtIn?.load) return (await loadBuiltIn(builtIn)) ?? notInstalled(builtIn.name, lookup);
  const url = isPath(name) ? moduleAt(name, lookup) : packageUrl(builtIn?.name ?? name, lookup.cwd);
  if (url === undefined) return builtIn && notInstalled(builtIn.name, lookup);

  let module: Record<string, unknown>;
  try {
    module = (await import(url)) as Record<string, unknown>;
  } catch (error) {
    throw new ConfigError(`${lookup.setting}: ${JSON.stringify(name)}: cannot be loaded: ${messageOf(error).split("\n", 1)[0]}`, {
      cause: error,
    });
  }
  const { provider } = module;
  if (isProvider(provider)) return provider;
  throw new ConfigError(
    `${lookup.setting}: ${JSON.stringify(name)}: expected a module that exports "provider" with name, capabilities, configSchema and create`,
  );
}

function isPath(name: string): boolean {
  return name.startsWith(".") || isAbsolute(name);
}

/** All providers of this project that are installed here. @throws ConfigError if one exists but cannot be loaded */
export async function installedProviders(cwd: string): Promise<readonly ProviderDefinition[]> {
  const found = builtInProviders.map(async (provider) => {
    if (provider.load) return loadBuiltIn(provider);
    return packageUrl(provider.name, cwd) === undefined ? undefined : findProvider(provider.name, { cwd, setting: "--provider" });
  });
  return (await Promise.all(found)).filter((definition) => definition !== undefined);
}

function moduleAt(name: string, { cwd, setting }: ProviderLookup): string {
  const path = resolve(cwd, name);
  if (!existsSync(path)) throw new ConfigError(`${setting}: ${JSON.stringify(name)}: does not exist, expected the path of a module`);
  if (!statSync(path).isDirectory()) return pathToFileURL(path).href;
  const where = `${setting}: ${JSON.stringify(name)}`;
  const manifest = join(path, "package.json");
  if (!existsSync(manifest)) throw new ConfigError(`${where}: the folder has no package.json, expected a package or the path of a module`);
  const url = entryPointOf(manifest);
  if (existsSync(fileURLToPath(url))) return url;
  throw new ConfigError(`${where}: ${relative(path, fileURLToPath(url))} does not exist; build the package first, as with npm run build`);
}

/** Entry point of a package by its manifest; the file may not exist. */
function entryPointOf(manifest: string): string {
  const { name, exports, main } = JSON.parse(readFileSync(manifest, "utf8")) as { name?: string; exports?: unknown; main?: string };
  const own = name !== undefined && exports !== undefined ? tryResolve(name, pathToFileURL(manifest).href) : undefined;
  if (own !== undefined) return own;
  const target = importTarget(exports) ?? main ?? "index.js";
  return pathToFileURL(join(dirname(manifest), target)).href;
}

function packageUrl(name: string, cwd: string): string | undefined {
  const names = /^[\w-]+$/.test(name) ? [`${packageScope}/provider-${name}`, name] : [name];
  const bases = [pathToFileURL(join(cwd, "package.json")).href, import.meta.url];
  for (const candidate of names) {
    for (const base of bases) {
      const url = tryResolve(candidate, base);
      if (url !== undefined) return url;
    }
  }
  return undefined;
}

function tryResolve(name: string, base: string): string | undefined {
  try {
    const file = createRequire(base).resolve(name);
    // A bare name may be one of Node's own modules, which are not providers.
    return isAbsolute(file) ? pathToFileURL(file).href : undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code === "ERR_PACKAGE_PATH_NOT_EXPORTED" ? importOnlyUrl(name, base) : undefined;
  }
}

/** Entry point of a package whose exports have only the condition `import`, which `require.resolve` does not support. */
function importOnlyUrl(name: string, base: string): string | undefined {
  const manifest = findPackageJSON(name, base);
  if (manifest === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as { exports?: unknown };
  const target = importTarget(exports);
  return target === undefined ? undefined : pathToFileURL(join(dirname(manifest), target)).href;
}

function importTarget(exports: unknown): string | undefined {
  if (typeof exports === "string") return exports;
  if (typeof exports !== "object" || exports === null) return undefined;
  const conditions = exports as Record<string, unknown>;
  return importTarget(conditions["."] ?? conditions["node"] ?? conditions["import"] ?? conditions["default"]);
}

function isProvider(value: unknown): value is ProviderDefinition {
  if (typeof value !== "object" || value === null) return false;
  const { name, capabilities, configSchema, create } = value as Record<string, unknown>;
  return (
    typeof name === "string" &&
    typeof capabilities === "object" &&
    typeof create === "function" &&
    typeof (configSchema as { safeParse?: unknown } | undefined)?.safeParse === "function"
  );
}

function notInstalled(name: string, { setting }: ProviderLookup): never {
  const packageName = `${packageScope}/provider-${name}`;
  throw new ConfigError(`${setting}: ${JSON.stringify(name)}: ${packageName} is not installed here; npm install ${packageName}`);
}

function notFound(name: string, { setting }: ProviderLookup): ConfigError {
  const names = builtInProviders.flatMap((provider) => [provider.name, ...provider.aliases]);
  const hint = didYouMean(name, names);
  return new ConfigError(
    `${setting}: ${JSON.stringify(name)}: expected a built-in provider (${names.join(", ")}), an installed npm package, or the path of a module${hint}`,
  );
}
