import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { GinkgoReport } from "./ginkgo-report.ts";

/**
 * Runs Kubernetes' tests, which may fail. The output is kept beside the report.
 *
 * @param programs - folder with `ginkgo` and `e2e.test`
 * @param options - of ginkgo, such as `--focus=…`
 * @param testOptions - of the tests, such as `--kubeconfig=…`
 * @param report - path of the report that is written, which ends in `.json`
 * @throws Error if there is no report
 */
export async function runGinkgo(
  programs: string,
  options: readonly string[],
  testOptions: readonly string[],
  report: string,
): Promise<GinkgoReport> {
  const logFile = report.replace(/json$/, "log");
  rmSync(report, { force: true });
  const log = openSync(logFile, "w");
  const words = [`--json-report=${basename(report)}`, `--output-dir=${dirname(report)}`, "--no-color", ...options];
  const child = spawn(join(programs, "ginkgo"), [...words, join(programs, "e2e.test"), "--", ...testOptions], {
    cwd: dirname(report),
    stdio: ["ignore", log, log],
  });
  await once(child, "close");
  closeSync(log);
  if (!existsSync(report)) throw new Error(`the tests left no report; see ${logFile}`);
  return JSON.parse(readFileSync(report, "utf8")) as GinkgoReport;
}
