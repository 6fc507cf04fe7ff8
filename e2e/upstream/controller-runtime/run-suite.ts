import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControllerRuntimeTests } from "../../../tools/controller-runtime.ts";
import { root } from "../../../tools/workspace.ts";
import { toOutcomes, type GinkgoSuite, type TestOutcome } from "./test-outcomes.ts";

/** The slowest suite takes two minutes on a quiet machine. */
const timeoutMs = 900_000;

/**
 * Runs a suite with the programs of a folder, which envtest starts. The output is kept in `.reports/controller-runtime`.
 *
 * @param assets - the value of `KUBEBUILDER_ASSETS`
 * @throws Error if it does not end, or tells no results
 */
export async function runSuite(tests: ControllerRuntimeTests, suite: string, assets: string): Promise<readonly TestOutcome[]> {
  const folder = mkdtempSync(join(tmpdir(), "controller-runtime-"));
  const report = join(folder, "report.json");
  try {
    // A session of its own: some tests leave their servers behind.
    const child = spawn(
      tests.program(suite),
      ["-test.v", `-test.timeout=${String(timeoutMs)}ms`, `-ginkgo.json-report=${report}`, "-ginkgo.no-color"],
      {
        cwd: tests.folder(suite),
        // Some tests of client/apiutil download an older API server, and would test that. They find nobody behind the proxy.
        env: { ...process.env, KUBEBUILDER_ASSETS: assets, TMPDIR: folder, HTTPS_PROXY: "http://127.0.0.1:1" },
        stdio: ["ignore", "pipe", "pipe"],
        detached: true,
      },
    );
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(child, "close");
    // Those are all that is left in the session.
    spawnSync("pkill", ["-KILL", "-s", String(child.pid)]);
    const output = Buffer.concat(chunks).toString();
    const logs = join(root, ".reports/controller-runtime");
    mkdirSync(logs, { recursive: true });
    const log = join(logs, `${suite.replaceAll("/", "-")}.log`);
    writeFileSync(log, output);
    const suites = existsSync(report) ? (JSON.parse(readFileSync(report, "utf8")) as GinkgoSuite[]) : [];
    const outcomes = toOutcomes(output, suites);
    if (outcomes.length === 0) throw new Error(`${suite} told no results; its output is in ${log}`);
    return outcomes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
