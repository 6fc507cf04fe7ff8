import { kinds, type Kind } from "@virtual-kubelet/create-provider";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runAsProgram, type CheckResult } from "./check.ts";
import { manifestProblems } from "./manifest-rules.ts";
import { newProvider } from "./new-provider.ts";
import { findPnpm, run } from "./run.ts";
import { root, readCatalog, workspacePackages, type Manifest } from "./workspace.ts";

const name = "extra";

/** Copies the repository's tracked and new files. */
function copyRepository(destination: string): void {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  for (const file of list.split("\0")) if (file !== "" && existsSync(join(root, file))) cpSync(join(root, file), join(destination, file));
}

/** Adds a provider of each kind to a copy of the repository, and tests it there as `make test` does. */
export async function checkNewProvider(): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const kind of kinds) results.push(...(await checkKind(kind)));
  return results;
}

async function checkKind(kind: Kind): Promise<CheckResult[]> {
  const copy = mkdtempSync(join(tmpdir(), "vk-new-provider-"));
  const results: CheckResult[] = [];
  const pnpm = await findPnpm();
  const step = async (what: string, work: () => Promise<{ readonly code: number; readonly output: string }>): Promise<boolean> => {
    const { code, output } = await work();
    results.push({ name: `pnpm new-provider --kind ${kind}: ${what}`, problems: code === 0 ? [] : [output] });
    return code === 0;
  };
  const tool = (what: string, program: string, ...args: string[]): Promise<boolean> => step(what, () => run(program, args, { cwd: copy }));
  try {
    copyRepository(copy);
    newProvider(copy, { name, description: "A provider that is there for this check alone", kind });
    if (!(await step("install", () => pnpm(["install", "--prefer-offline", "--ignore-scripts", "--no-frozen-lockfile"], copy))))
      return results;
    const source = "--conditions=@virtual-kubelet/source";
    const own = [`providers/${name}`, `e2e/conformance/${name}.test.ts`];
    await tool("generate", "node", source, "tools/generate.ts");
    const suite = async (): Promise<void> => {
      await tool("the suite", "vitest", "run", "--project", "conformance", own[1] ?? "");
      await tool("what the suite found is what is committed", "node", source, "tools/generate.ts", "--check");
    };
    const rest = async (): Promise<void> => {
      await tool("imports", "node", "tools/check-imports.ts");
      await tool("documents", "node", "tools/check-documents.ts");
      await tool("lint", "oxlint", "--quiet", ...own);
      await tool("dead code", "knip", "--no-config-hints", "--workspace", `providers/${name}`);
      await tool("format", "oxfmt", "--check", ...own, "provider.yaml");
      const config = { extends: "./tsconfig.json", include: [`providers/${name}/src`, `providers/${name}/test`, own[1]] };
      writeFileSync(join(copy, "tsconfig.extra.json"), JSON.stringify(config));
      await tool("types", "tsc", "-p", "tsconfig.extra.json", "--pretty", "false");
      // Unchanged packages were built in the repository.
      const cache = `--cache-dir=${join(root, ".turbo/cache")}`;
      await step("build", () => pnpm(["exec", "turbo", "run", "build", cache, `--filter=./providers/${name}`], copy));
      results.push({ name: `pnpm new-provider --kind ${kind}: manifest`, problems: manifestOf(copy) });
      // Those of a provider of an API run on Node's own runner, with its suite.
      if (kind === "process") await tool("unit tests", "vitest", "run", "--project", "unit", `providers/${name}`);
      const print = ["packages/cli/src/main.ts", "config", "print", "--provider", `./providers/${name}`];
      await tool("--provider finds it", "node", source, ...print);
    };
    // The suite waits more than it computes.
    await Promise.all([suite(), rest()]);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  return results;
}

function manifestOf(top: string): readonly string[] {
  const folder = `providers/${name}`;
  const owner = workspacePackages(top).find((each) => each.folder === folder);
  if (!owner) return [`${folder} is no package of the workspace`];
  const { engines } = JSON.parse(readFileSync(join(top, "package.json"), "utf8")) as Manifest;
  return manifestProblems(owner, {
    engine: engines?.node ?? "",
    catalog: readCatalog(top),
    readme: readFileSync(join(top, folder, "README.md"), "utf8"),
    documented: ["src/index.ts"],
    exists: (path) => existsSync(join(top, folder, path)),
  });
}

await runAsProgram(import.meta, checkNewProvider);
