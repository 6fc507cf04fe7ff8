import { messageOf } from "@virtual-kubelet/errdefs";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runAsProgram, type CheckResult } from "./check.ts";
import { checkNewProvider } from "./check-new-provider.ts";
import { checkOutsideProject, type OutsideProjectContext } from "./outside-project.ts";
import { packPackages } from "./packed-packages.ts";
import { outsideProjects } from "./workspace.ts";

/** Checks projects that use the packed packages, and a provider added to a copy of the repository. */
export async function checkProjects(): Promise<CheckResult[]> {
  const results = await Promise.all([checkUsers(), checkNewProvider()]);
  return results.flat();
}

/** Checks example projects outside the workspace, with their authors' commands. */
async function checkUsers(): Promise<CheckResult[]> {
  const packed = await packPackages().catch((error: unknown) => messageOf(error));
  if (typeof packed === "string") return [{ name: "build and pack", problems: [packed] }];
  const folder = mkdtempSync(join(tmpdir(), "vk-projects-"));
  const at = (name: string): OutsideProjectContext => ({ destination: join(folder, name), packed });
  try {
    const outside = outsideProjects.map((project, index) => checkOutsideProject(project, at(`outside-${index}`)));
    return (await Promise.all(outside)).flat();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await runAsProgram(import.meta, checkProjects);
