import { join } from "node:path";
import { expect, test } from "vitest";
import { pythonClient } from "../../tools/python-client.ts";
import { ensurePackages } from "../../tools/python-environment.ts";
import { run } from "../../tools/run.ts";
import { root } from "../../tools/workspace.ts";
import { programCommand, writeAssets } from "./assets.ts";

test("the example of a Go operator passes on the embedded API server", async () => {
  using assets = writeAssets();

  const { code, output } = await run("go", ["test", "-count=1", "-v", "./..."], {
    cwd: join(root, "examples/test-a-go-operator"),
    env: { KUBEBUILDER_ASSETS: assets.directory },
  });

  expect(output).toContain("--- PASS: TestTwoManagersOfAConfigMap");
  expect(code, output).toBe(0);
});

test("the example in Python passes", async () => {
  const { code, output } = await run(await ensurePackages(pythonClient), ["-m", "pytest", "-p", "no:cacheprovider"], {
    cwd: join(root, "examples/test-in-python"),
    env: { EMBEDDED_APISERVER: programCommand.join(" "), PYTHONDONTWRITEBYTECODE: "1" },
  });

  expect(output).toContain("1 passed");
  expect(code, output).toBe(0);
});
