import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { makeImageContext } from "./image-context.ts";
import { run } from "./run.ts";
import { programName } from "./scope.ts";

/** Providers that are not part of the program, because they bring the packages of their clouds. */
const providers = ["aci", "fargate"];

/** Checks that an image built with these providers has them, with everything that they need. */
export async function checkImageProviders(): Promise<CheckResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "vk-image-"));
  try {
    await makeImageContext(providers, folder);
    const app = join(folder, "app");
    const program = join(app, "node_modules", programName, "dist/main.js");
    return await Promise.all(
      providers.map(async (name) => {
        const { code, output } = await run(process.execPath, [program, "providers", name], { cwd: app });
        return { name: `an image with PROVIDERS=${name} has that provider`, problems: code === 0 ? [] : [output] };
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
