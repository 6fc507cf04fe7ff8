import { kindProblem, kinds, type Kind } from "@virtual-kubelet/create-provider";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { scaffoldProvider, type NewProvider } from "./provider-scaffold.ts";
import { findPnpm, mustRun } from "./run.ts";
import { root } from "./workspace.ts";

/** Adds a provider to the repository at `top`. @returns the paths that were written */
export function newProvider(top: string, provider: NewProvider): string[] {
  const files = scaffoldProvider(top, provider);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), text);
  }
  return Object.keys(files);
}

const usage = "usage: npm run -s new-provider -- NAME [--kind process|remote] [--description TEXT]";

/** What a new provider does until it has a back end of its own. */
const beginnings: Readonly<Record<Kind, string>> = {
  process: "runs pods as processes",
  remote: "runs pods as jobs of the API in its test/fake-api.ts, which test/run-fake-api.ts serves",
};

if (import.meta.main) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { description: { type: "string" }, kind: { type: "string" } },
    });
    const [name, surplus] = positionals;
    if (name === undefined || surplus !== undefined) throw new Error(usage);
    const [standard] = kinds;
    const { kind = standard } = values;
    const problem = kindProblem(kind);
    if (problem !== undefined) throw new Error(`--kind is ${JSON.stringify(kind)}: ${problem}`);
    const description = values.description ?? `Virtual Kubelet provider for ${name}`;
    for (const path of newProvider(root, { name, description, kind: kind as Kind })) console.log(`wrote ${path}`);
    const pnpm = await findPnpm();
    const { code, output } = await pnpm(["install", "--prefer-offline"]);
    if (code !== 0) throw new Error(`pnpm install failed; run it again when that is mended:\n${output}`);
    await mustRun("node", ["--run", "generate"]);
    console.log(
      `\nproviders/${name} ${beginnings[kind as Kind]}, to begin with. Next:\n\n` +
        `  make test LEVEL=conformance\n  npm run -s vk -- run --provider ./providers/${name} --nodename ${name}-1\n\n` +
        "and commit what changed, pnpm-lock.yaml too.",
    );
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 2;
  }
}
