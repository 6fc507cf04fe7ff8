import { join } from "node:path";
import { run } from "./run.ts";
import { root } from "./workspace.ts";

/** The picture of the demo in the README. */
export const demoPicture: string = join(root, "docs/pictures/demo.svg");

/** Runs the demo until its pods run. @throws if it fails */
export async function demoOutput(): Promise<string> {
  const program = join(root, "packages/cli/src/main.ts");
  const { code, output } = await run("node", ["--conditions=@virtual-kubelet/source", program, "demo", "--once"], {
    cwd: root,
    timeoutMs: 120_000,
  });
  if (code !== 0) throw new Error(`the demo ended with ${code}: ${output}`);
  return output;
}
