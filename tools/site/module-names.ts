import { type DeclarationReflection, type ProjectReflection, ReflectionKind } from "typedoc";
import { publishedPackages, type WorkspacePackage } from "../workspace.ts";

/**
 * How each entry file is imported, by TypeDoc's name for the file: its path without its ending and without `/index`. Packages with one entry are
 * included.
 */
function importPaths(packages: readonly WorkspacePackage[] = publishedPackages()): Map<string, string> {
  return new Map(
    packages.flatMap(({ folder, manifest: { name, exports = {} } }) =>
      Object.entries(exports).flatMap(([subpath, target]) => {
        const source = typeof target === "string" ? undefined : target["@virtual-kubelet/source"];
        if (source === undefined) return [];
        const file = `${folder}/${source.replace(/^\.\//, "")}`.replace(/\.ts$/, "").replace(/\/index$/, "");
        return [[file, `${name}${subpath.slice(1)}`] as const];
      }),
    ),
  );
}

/**
 * Gives modules the paths by which they are imported. A package's main entry becomes the package's page; its other entries are modules below it.
 *
 * @throws Error if an entry file is not exported by its package
 */
export function nameModules(project: ProjectReflection, paths: ReadonlyMap<string, string> = importPaths()): void {
  const packages = project.getChildrenByKind(ReflectionKind.Module);
  for (const pack of packages) {
    for (const entry of pack.getChildrenByKind(ReflectionKind.Module)) {
      const path = paths.get(entry.name);
      if (path === undefined)
        throw new Error(`${entry.name} is an entry point of typedoc.json, but no entry of "exports" of ${pack.name} names it`);
      if (path === pack.name) project.mergeReflections(entry, pack);
      else entry.name = path;
    }
    delete pack.groups;
    delete pack.categories;
    sortModulesFirst(pack);
  }
}

function sortModulesFirst(pack: DeclarationReflection): void {
  pack.children?.sort((a, b) => Number(b.kind === ReflectionKind.Module) - Number(a.kind === ReflectionKind.Module));
}
