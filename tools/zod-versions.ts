import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { compilers } from "./consumer-project.ts";
import type { PackedPackages } from "./packed-packages.ts";
import { run } from "./run.ts";
import { scope } from "./scope.ts";
import { root } from "./workspace.ts";

/**
 * Authors of providers bring their own zod, which may be another one than core's. Two projects: one with the oldest zod that the manifests
 * accept, and one in which only core has the newest.
 */
export async function checkZodVersions(packed: PackedPackages): Promise<CheckResult[]> {
  const oldest = /^\^(\d+\.\d+\.\d+)$/.exec(packed.catalog["zod"] ?? "")?.[1];
  if (oldest === undefined)
    return [{ name: "zod", problems: ["pnpm-workspace.yaml: zod must be a range such as ^4.2.0, because users share it"] }];
  const { version: newest } = JSON.parse(readFileSync(join(root, "packages/core/node_modules/zod/package.json"), "utf8")) as {
    version: string;
  };
  const variants = [
    { name: `zod ${oldest} for all`, zod: oldest, zodOfCore: oldest },
    { name: `zod ${oldest}, but ${newest} for core`, zod: oldest, zodOfCore: newest },
  ];
  const results: CheckResult[] = [];
  for (const { name, ...versions } of variants) results.push(...(await checkVariant(name, versions, packed)));
  return results;
}

/** Versions of zod in a project. */
interface ZodVersions {
  readonly zod: string;
  readonly zodOfCore: string;
}

async function checkVariant(name: string, versions: ZodVersions, { tarballs, catalog, pnpm }: PackedPackages): Promise<CheckResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "vk-zod-"));
  try {
    const devDependencies = { "@types/node": catalog["@types/node"], vitest: catalog["vitest"] };
    const dependencies = { ...tarballs, zod: versions.zod };
    const overrides = { ...tarballs, zod: versions.zod, [`${scope}/core>zod`]: versions.zodOfCore };
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies, devDependencies }));
    writeFileSync(join(folder, "pnpm-workspace.yaml"), `overrides: ${JSON.stringify(overrides)}\n`);
    const install = await pnpm(["install", "--prefer-offline", "--ignore-scripts", "--no-frozen-lockfile"], folder);
    if (install.code !== 0) return [{ name: `${name}: install`, problems: [install.output] }];
    for (const file of ["second-zod.ts", "try-packages.ts"]) cpSync(join(root, "e2e/packages", file), join(folder, file));

    const used = await run("node", ["second-zod.ts"], { cwd: folder });
    const tried = await run("node", ["try-packages.ts"], { cwd: folder });
    const expected = JSON.stringify({
      job: { id: "a" },
      good: { region: "here", policy: { privileged: true } },
      bad: ["policy.privileged"],
      hasSettings: true,
      ...versions,
    });
    const results = [
      { name: `${name}: a provider's schema`, problems: used.output.trim() === expected ? [] : [used.output, `expected ${expected}`] },
      { name: `${name}: a node runs a pod and stops`, problems: tried.code === 0 ? [] : [tried.output] },
    ];
    const compilerOptions = { target: "es2024", module: "nodenext", strict: true, noEmit: true, skipLibCheck: true, types: ["node"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["second-zod.ts"] }));
    for (const { program, version } of compilers) {
      const { code, output } = await run(program, ["-p", folder, "--pretty", "false"], { cwd: folder });
      results.push({ name: `${name}: types, with TypeScript ${version}`, problems: code === 0 ? [] : [output] });
    }
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
