import { VirtualClock } from "@virtual-kubelet/clock";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../../packages/cli/src/cli.ts";
import { testContext } from "../../packages/cli/src/test-support/test-context.ts";

// e2e/plans contains what each provider sends for the pods of e2e/plans/pods. A change must be intended; a deleted file is written again.

const folder = join(import.meta.dirname, "../plans");
const pods = readdirSync(join(folder, "pods")).map((file) => basename(file, ".yaml"));
const plans = ["docker", "kubernetes", "mock", "nomad", "zun"].flatMap((provider) => pods.map((pod) => ({ provider, pod })));

test.each(plans)("$provider plans $pod as it did", async ({ provider, pod }) => {
  const context = testContext(new VirtualClock(), { cwd: join(folder, "pods") });
  const code = await runProgram(
    ["plan", "-f", `${pod}.yaml`, "--provider", provider, "--nodename", "node-1", "--cluster-id", "cluster-1"],
    context,
  );

  expect(context.stderr.text).toBe("");
  expect(code).toBe(context.stdout.text.includes("does not run it") ? 1 : 0);
  expect(context.stdout.text).not.toContain("hunter22");
  await expect(context.stdout.text).toMatchFileSnapshot(join(folder, provider, `${pod}.txt`));
});
