import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../tools/workspace.ts";
import { programOf, runProgram } from "./support/programs.ts";

test("promtool accepts the guide's configuration of Prometheus", async () => {
  const guide = await readFile(join(root, "docs/guides/monitoring.md"), "utf8");
  const [, configuration] = /```yaml\n# prometheus\.yml\n([\s\S]*?)```/.exec(guide) ?? [];
  expect(configuration).toContain("scrape_configs:");
  const folder = await mkdtemp(join(tmpdir(), "vk-prometheus-"));
  try {
    const file = join(folder, "prometheus.yml");
    await writeFile(file, configuration ?? "");
    const { code, stderr } = await runProgram(programOf("PROMTOOL"), ["check", "config", "--syntax-only", file]);

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  } finally {
    await rm(folder, { recursive: true });
  }
});
