import { createPackageFromTarballData, checkPackage } from "@arethetypeswrong/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { checkApiReports } from "./api-reports.ts";
import { runAsProgram, type CheckResult } from "./check.ts";
import { checkConsumerProject } from "./consumer-project.ts";
import { checkCreatedProjects } from "./created-project.ts";
import { checkImageProviders } from "./check-image-providers.ts";
import { checkInstalledSize } from "./installed-size.ts";
import { checkZodVersions } from "./zod-versions.ts";
import { manifestProblems } from "./manifest-rules.ts";
import { packPackages, type PackedPackage } from "./packed-packages.ts";
import { publishedPackages, readCatalog, root, type Catalogs, type Manifest, type WorkspacePackage } from "./workspace.ts";

function readIfThere(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** The entry points of a package's own typedoc.json, else of the top one. */
function documentedFiles(folder: string): readonly string[] {
  const own = JSON.parse(readIfThere(join(folder, "typedoc.json")) ?? "{}") as { entryPoints?: string[] };
  const { packageOptions } = JSON.parse(readFileSync(join(root, "typedoc.json"), "utf8")) as { packageOptions: { entryPoints: string[] } };
  return own.entryPoints ?? packageOptions.entryPoints;
}

function checkManifest(owner: WorkspacePackage, engine: string, catalog: Catalogs["catalog"]): CheckResult {
  const folder = join(root, owner.folder);
  return {
    name: `manifest of ${owner.manifest.name}`,
    problems: manifestProblems(owner, {
      engine,
      catalog,
      readme: readIfThere(join(folder, "README.md")),
      documented: documentedFiles(folder),
      exists: (path) => existsSync(join(folder, path)),
    }),
  };
}

/** Problems that publint and attw find in a tarball. CommonJS resolution is not checked, because only ESM is supported. */
async function checkTarball({ owner, tarball }: PackedPackage): Promise<CheckResult> {
  const data = readFileSync(tarball);
  const archive = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: archive }, strict: true, level: "warning" });
  const contents = createPackageFromTarballData(data);
  const types = await checkPackage(contents);
  const files = contents.listFiles().map((path) => path.replace(`/node_modules/${owner.manifest.name}/`, ""));
  const problems = types.types === false ? ["has no types"] : types.problems;
  return {
    name: `tarball of ${owner.manifest.name}`,
    problems: [
      ...files.filter((path) => /\.test\.|(^|\/)test-support\//.test(path)).map((path) => `holds ${path}, which is for tests`),
      ...files.filter((path) => path.endsWith(".map")).map((path) => `holds ${path}, which doubles the size of its source`),
      ...(files.includes("LICENSE") ? [] : ["holds no LICENSE"]),
      ...messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code),
      ...problems.flatMap((problem) => {
        if (typeof problem === "string") return [problem];
        if ("resolutionKind" in problem && (problem.resolutionKind === "node10" || problem.resolutionKind === "node16-cjs")) return [];
        return [JSON.stringify(problem)];
      }),
    ],
  };
}

/** Checks manifests; then builds, packs, installs, imports, type-checks and uses every published package, and creates projects with them. */
export async function checkPackages(): Promise<CheckResult[]> {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const catalog = readCatalog();
  const manifests = publishedPackages().map((owner) => checkManifest(owner, engines?.node ?? "", catalog));
  const packed = await packPackages().catch((error: unknown) => messageOf(error));
  if (typeof packed === "string") return [...manifests, { name: "build and pack", problems: [packed] }];
  const projects = [checkConsumerProject(packed), checkCreatedProjects(packed), checkZodVersions(packed)];
  const tarballs: CheckResult[] = [];
  for (const each of packed.packages) tarballs.push(await checkTarball(each));
  tarballs.push(...checkApiReports());
  const results = (await Promise.all(projects)).flat();
  return [...manifests, ...tarballs, ...results, ...(await checkInstalledSize(packed)), ...(await checkImageProviders())];
}

await runAsProgram(import.meta, checkPackages);
