import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the guide's test for node:test passes", async () => {
  const file = fileURLToPath(new URL("node-test.ts", import.meta.url));
  const flags = ["--conditions=@virtual-kubelet/source", "--disable-warning=ExperimentalWarning", "--test", "--test-reporter=tap"];

  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file], { env: { PATH: process.env["PATH"] } });

  expect(stdout).toContain("# pass 1\n# fail 0");
});
