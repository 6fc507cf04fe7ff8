import { VirtualClock } from "@virtual-kubelet/clock";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../../packages/cli/src/cli.ts";
import { testContext } from "../../packages/cli/src/test-support/test-context.ts";

// e2e/plans contains what each provider sends for the pods of e2e/plans/pods. A change must be intended; a deleted file is written again.

const folder = join(import.meta.dirname, "../plans");
const pods = readdirSync(join(folder, "pods")).map((file) => basename(file, ".yaml"));
/** Words that select each provider. The clouds' packages are not part of the program, and need a place in their cloud. */
const words: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(["docker", "kubernetes", "mock", "nomad", "zun"].map((name) => [name, ["--provider", name]])),
  ...Object.fromEntries(
    ["aci", "fargate"].map((name) => [
      name,
      ["--provider", `../../../providers/${name}/src/index.ts`, "--provider-config", `../${name}/config.yaml`],
    ]),
  ),
};
const plans = Object.keys(words).flatMap((provider) => pods.map((pod) => ({ provider, pod })));

test.each(plans)("$provider plans $pod as it did", async ({ provider, pod }) => {
  const context = testContext(new VirtualClock(), { cwd: join(folder, "pods") });
  const code = await runProgram(
    ["plan", "-f", `${pod}.yaml`, ...(words[provider] ?? []), "--nodename", "node-1", "--cluster-id", "cluster-1"],
    context,
  );

  expect(context.stderr.text).toBe("");
  expect(code).toBe(context.stdout.text.includes("does not run it") ? 1 : 0);
  expect(context.stdout.text).not.toContain("hunter22");
  await expect(context.stdout.text).toMatchFileSnapshot(join(folder, provider, `${pod}.txt`));
});
