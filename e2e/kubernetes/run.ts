/**
 * Runs Kubernetes' own end-to-end tests on a node of the Docker provider, with an engine and a control plane of their own, and
 * writes how they went. `make conformance` calls it in namespaces of its own, with the programs built.
 *
 * Usage: run.ts [--procs 8] [--no-guide] [--group 1 …], or of tests of your choice: run.ts --focus-file REGEX [--focus REGEX] [--skip REGEX]
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
import { groupSection, summaryOf, type GroupOutcome } from "./conformance-page.ts";
import { chosenSpecs, specResults, type GinkgoReport } from "./ginkgo-report.ts";
import { startNode } from "./node.ts";
import { PodStarts } from "./pod-starts.ts";
import { knownLimit } from "./known-limits.ts";
import { specGroups, whoInsteadOfKubelet, type LeftOut, type SpecGroup } from "./spec-groups.ts";
import { importStandIns } from "./stand-in-images.ts";

const root = join(import.meta.dirname, "../..");
const guide = join(root, "docs/guides/conformance.md");
const { values } = parseArgs({
  options: {
    focus: { type: "string", default: "\\[Conformance\\]" },
    "focus-file": { type: "string" },
    skip: { type: "string", default: "^$" },
    procs: { type: "string", default: "8" },
    group: { type: "string", multiple: true },
    "no-guide": { type: "boolean", default: false },
  },
});
const nodeAddress = networkInterfaces()["lo"]?.find(({ family, address }) => family === "IPv4" && !address.startsWith("127."))?.address;
if (nodeAddress === undefined) throw new Error("these tests need namespaces of their own: run make conformance");

const reports = join(root, ".reports/kubernetes");
rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });
const programs = await ensureKubernetesE2e();
const groups = chosenGroups();

await using engine = await PrivateEngine.start();
await importStandIns(engine.api, programs.directory);
const controlPlanePrograms = await ensureControlPlane();
await using controlPlane = await startControlPlane({
  flags: { "kube-apiserver": { "advertise-address": nodeAddress, "allow-privileged": "true" } },
});
await using _node = await startNode({ controlPlane, dockerHost: engine.api.host, address: nodeAddress, directory: reports });
await using starts = await PodStarts.follow(controlPlane);
const outcomes: GroupOutcome[] = [];
for (const [index, group] of groups.entries()) {
  const outcome = await runGroup(group, String(index));
  outcomes.push(outcome);
  // After each: a run that is broken off leaves what it has found.
  writeFileSync(join(reports, "outcomes.json"), JSON.stringify(outcomes));
  if (!values["no-guide"] && group.region !== undefined) await writeGuide(group.region, outcome);
}
const results = outcomes.flatMap((outcome) => outcome.results);
for (const { name, reason, limit, passed } of results) if (!passed) console.log(`failed: ${name}: ${limit ?? reason ?? ""}`);
for (const outcome of outcomes) console.log(`${outcome.title}: ${summaryOf(outcome)}`);
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1;

function chosenGroups(): readonly SpecGroup[] {
  const { focus, skip, group, "focus-file": focusFile } = values;
  if (focusFile !== undefined) return [{ title: "chosen", focus, skip, focusFile }];
  return group === undefined ? specGroups : specGroups.filter((_, index) => group.includes(String(index + 1)));
}

async function writeGuide(region: string, outcome: GroupOutcome): Promise<void> {
  const { Version: engineVersion } = (await engine.api.json("GET", "/version")) as { Version: string };
  const { CgroupVersion: cgroups } = (await engine.api.json("GET", "/info")) as { CgroupVersion: string };
  const circumstances = [
    `${new Date().toISOString().slice(0, 10)}, Kubernetes ${controlPlane.version}, tests of ${programs.version}, ${values.procs} at once`,
    `Docker ${engineVersion}, cgroup v${cgroups}; images are stand-ins made of Busybox and programs of Kubernetes' source`,
    `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`,
  ];
  writeFileSync(guide, replaceRegion(readFileSync(guide, "utf8"), region, groupSection(outcome, circumstances)));
  console.log(`written to ${guide}`);
}

/** Finds out which tests are of the group, and runs them. */
async function runGroup({ title, focus, focusFile, skip, leftOut = [] }: SpecGroup, name: string): Promise<GroupOutcome> {
  const program = join(programs.directory, "e2e.test");
  const belongs = [`--focus=${focus}`, `--focus-file=${focusFile}`];
  await ginkgo(["--dry-run", "--no-color", ...belongs, `--skip=${skip}`, program], `chosen-${name}.json`);
  const all = [...chosenSpecs(reportOf(`chosen-${name}.json`))];
  const leaves = (rule: LeftOut, spec: string): boolean => new RegExp(rule.tests).test(spec);
  const chosen = new Set(all.filter((spec) => !leftOut.some((rule) => leaves(rule, spec))));
  const filter = [...belongs, `--skip=${[skip, ...leftOut.map(({ tests }) => tests)].join("|")}`];
  console.log(`${title}: ${chosen.size} of ${all.length} tests; logs and reports are in ${reports}`);
  starts.drain();
  const began = performance.now();
  await ginkgo(
    [
      ...filter,
      `--procs=${values.procs}`,
      "--timeout=3h",
      "--no-color",
      program,
      "--",
      "--provider=skeleton",
      `--kubeconfig=${controlPlane.kubeconfig.path}`,
      `--kubectl-path=${join(controlPlanePrograms, "kubectl")}`,
      "--minStartupPods=0",
      "--num-nodes=1",
    ],
    `report-${name}.json`,
  );
  const results = specResults(reportOf(`report-${name}.json`), chosen).map((result) => ({
    ...result,
    who: whoInsteadOfKubelet(result),
    limit: result.passed ? undefined : knownLimit(result.name),
  }));
  const counted = leftOut.map((rule) => ({ ...rule, count: all.filter((spec) => leaves(rule, spec)).length }));
  return { title, results, minutes: minutesSince(began), starts: starts.drain(), leftOut: counted };
}

function minutesSince(ms: number): number {
  return (performance.now() - ms) / 60_000;
}

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
