/**
 * Runs Kubernetes' own end-to-end tests on a node of the Docker provider, with an engine and a control plane of their own, and
 * writes how they went. `make conformance` calls it in namespaces of its own, with the programs built.
 *
 * Usage: run.ts [--focus REGEX] [--focus-file REGEX] [--procs 8] [--no-guide]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, networkInterfaces, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureControlPlane, startControlPlane } from "@virtual-kubelet/testing";
import { ensureKubernetesE2e } from "../../tools/kubernetes-e2e.ts";
import { replaceRegion } from "../../tools/marked-region.ts";
import { PrivateEngine } from "../docker/support/private-engine.ts";
import { conformancePage } from "./conformance-page.ts";
import { chosenSpecs, specResults, type GinkgoReport } from "./ginkgo-report.ts";
import { startNode } from "./node.ts";
import { PodStarts } from "./pod-starts.ts";
import { importStandIns } from "./stand-in-images.ts";

const root = join(import.meta.dirname, "../..");
const guide = join(root, "docs/guides/conformance.md");
const { values } = parseArgs({
  options: {
    focus: { type: "string", default: "\\[Conformance\\]" },
    "focus-file": { type: "string", default: "common/(node|storage)/" },
    procs: { type: "string", default: "8" },
    "no-guide": { type: "boolean", default: false },
  },
});
const nodeAddress = networkInterfaces()["lo"]?.find(({ family, address }) => family === "IPv4" && !address.startsWith("127."))?.address;
if (nodeAddress === undefined) throw new Error("these tests need namespaces of their own: run make conformance");

const reports = join(root, ".reports/kubernetes");
rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });
const programs = await ensureKubernetesE2e();
const filter = [`--focus=${values.focus}`, `--focus-file=${values["focus-file"]}`];
await ginkgo(["--dry-run", "--no-color", ...filter, join(programs.directory, "e2e.test")], "chosen.json");
const chosen = chosenSpecs(reportOf("chosen.json"));
console.log(`${chosen.size} tests are chosen; logs and reports are in ${reports}`);

await using engine = await PrivateEngine.start();
await importStandIns(engine.api, programs.directory);
const controlPlanePrograms = await ensureControlPlane();
await using controlPlane = await startControlPlane({
  flags: { "kube-apiserver": { "advertise-address": nodeAddress, "allow-privileged": "true" } },
});
await using _node = await startNode({ controlPlane, dockerHost: engine.api.host, address: nodeAddress, directory: reports });
await using starts = await PodStarts.follow(controlPlane);
const began = performance.now();
await ginkgo(
  [
    ...filter,
    `--procs=${values.procs}`,
    "--timeout=3h",
    "--no-color",
    join(programs.directory, "e2e.test"),
    "--",
    "--provider=skeleton",
    `--kubeconfig=${controlPlane.kubeconfig.path}`,
    `--kubectl-path=${join(controlPlanePrograms, "kubectl")}`,
    "--minStartupPods=0",
    "--num-nodes=1",
  ],
  "report.json",
);
const minutes = (performance.now() - began) / 60_000;
const results = specResults(reportOf("report.json"), chosen);
const passed = results.filter((result) => result.passed).length;
for (const { name, reason, passed: isPassed } of results) if (!isPassed) console.log(`failed: ${name}: ${reason ?? ""}`);
console.log(`${passed} of ${results.length} passed, in ${minutes.toFixed(1)} minutes`);

if (!values["no-guide"]) {
  const { Version: engineVersion } = (await engine.api.json("GET", "/version")) as { Version: string };
  const { CgroupVersion: cgroups } = (await engine.api.json("GET", "/info")) as { CgroupVersion: string };
  const circumstances = [
    `${new Date().toISOString().slice(0, 10)}, Kubernetes ${controlPlane.version}, tests of ${programs.version}, ${values.procs} at once`,
    `Docker ${engineVersion}, cgroup v${cgroups}; images are stand-ins made of Busybox and programs of Kubernetes' source`,
    `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`,
  ];
  const page = conformancePage({ circumstances, results, minutes, startSeconds: starts.quantiles });
  writeFileSync(guide, replaceRegion(readFileSync(guide, "utf8"), "kubernetes", page));
  console.log(`written to ${guide}`);
}
process.exitCode = passed < results.length ? 1 : 0;

/** Runs the tests; failures among them are in the report. @throws Error if there is none */
async function ginkgo(args: readonly string[], report: string): Promise<void> {
  const log = openSync(join(reports, report.replace(/json$/, "log")), "w");
  const child = spawn(join(programs.directory, "ginkgo"), [`--json-report=${report}`, `--output-dir=${reports}`, ...args], {
    cwd: reports,
    stdio: ["ignore", log, log],
  });
  await once(child, "close");
  closeSync(log);
  if (!existsSync(join(reports, report))) throw new Error(`the tests left no report; see ${join(reports, report.replace(/json$/, "log"))}`);
}

function reportOf(name: string): GinkgoReport {
  return JSON.parse(readFileSync(join(reports, name), "utf8")) as GinkgoReport;
}
