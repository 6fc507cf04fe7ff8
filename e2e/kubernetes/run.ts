/**
 * Runs Kubernetes' end-to-end tests on a node of the Docker provider, with a private engine and control plane, under each policy in
 * turn; or on a node of the provider `kubernetes`, whose far cluster has such a node. `make conformance` builds the programs and calls this in separate namespaces. A complete run on a work tree without changes
 * is recorded with its commit, and the page is generated from the record; the results of any other run are only printed.
 *
 * Usage: run.ts [--provider docker] [--procs 8] [--policy open …] [--group 1 …], or for selected tests: run.ts --focus-file REGEX [--focus REGEX] [--skip REGEX]
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, networkInterfaces, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureControlPlane, startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { ensureKubernetesE2e } from "../../tools/kubernetes-e2e.ts";
import { replaceRegion } from "../../tools/marked-region.ts";
import { PrivateEngine } from "../docker/support/private-engine.ts";
import { conformanceSections, groupRecord, summaryOf, type GroupOutcome, type JudgedSpec } from "./conformance-page.ts";
import { renderConformanceRun, type ConformanceRun } from "./conformance-record.ts";
import { chosenSpecs, specResults, type SpecResult } from "./ginkgo-report.ts";
import { knownLimit } from "./known-limits.ts";
import { startNode } from "./node.ts";
import type { NodePolicy } from "./node-policies.ts";
import { PodObserver } from "./pod-observer.ts";
import { refusalIn } from "./pod-refusals.ts";
import { runGinkgo } from "./run-ginkgo.ts";
import { whoInsteadOfKubelet, type LeftOut, type SpecGroup } from "./spec-groups.ts";
import { importStandIns } from "./stand-in-images.ts";
import { trialOf } from "./trials.ts";
import { startVirtualNode } from "./virtual-node.ts";
import { whyNotRecorded, type WorkTree } from "./work-tree.ts";

const root = join(import.meta.dirname, "../..");
const guide = join(root, "docs/guides/conformance.md");
const { values } = parseArgs({
  options: {
    provider: { type: "string", default: "docker" },
    focus: { type: "string", default: "\\[Conformance\\]" },
    "focus-file": { type: "string" },
    skip: { type: "string", default: "^$" },
    procs: { type: "string", default: "8" },
    group: { type: "string", multiple: true },
    policy: { type: "string", multiple: true },
  },
});
const nodeAddress = networkInterfaces()["lo"]?.find(({ family, address }) => family === "IPv4" && !address.startsWith("127."))?.address;
if (nodeAddress === undefined) throw new Error("these tests must run in private namespaces: run make conformance");

const trial = trialOf(values.provider);
const groups = chosenGroups();
const policies = chosenPolicies();
const tree = workTree();
const isChosen = values["focus-file"] !== undefined;
const unrecorded = whyNotRecorded(tree, trial, { groups: groups.length, policies: policies.length, isChosen });
if (unrecorded !== undefined) console.log(`this run is not recorded: ${unrecorded}`);
const date = new Date().toISOString().slice(0, 10);
const reports = join(root, ".reports/kubernetes", trial.provider);
rmSync(reports, { recursive: true, force: true });
const programs = await ensureKubernetesE2e();
const controlPlanePrograms = await ensureControlPlane();

await using engine = await PrivateEngine.start();
await importStandIns(engine.api, programs.directory);
const runs: PolicyRun[] = [];
for (const policy of policies) {
  runs.push(await runPolicy(policy));
  // Removes all pods of this policy before the next policy runs.
  await Promise.all((await engine.api.containers()).map((id) => engine.api.remove(id)));
}
for (const { policy, outcomes } of runs)
  for (const { results } of outcomes)
    for (const { name, reason, limit, passed } of results)
      if (!passed) console.log(`did not pass, policy ${policy.name}: ${name}: ${limit ?? reason ?? ""}`);
for (const { policy, outcomes } of runs)
  for (const outcome of outcomes) console.log(`policy ${policy.name}: ${outcome.title}: ${summaryOf(groupRecord(outcome))}`);
if (unrecorded === undefined) await record();
const results = runs.flatMap(({ outcomes }) => outcomes.flatMap((outcome) => outcome.results));
process.exitCode = results.every(({ passed, limit }) => passed || limit !== undefined) ? 0 : 1;

/** Results of the groups under a policy. */
interface PolicyRun {
  readonly policy: NodePolicy;
  readonly kubernetes: string;
  readonly outcomes: readonly GroupOutcome[];
}

function chosenGroups(): readonly SpecGroup[] {
  const { focus, skip, group, "focus-file": focusFile } = values;
  if (focusFile !== undefined) return [{ title: "chosen", focus, skip, focusFile }];
  const wrong = group?.find((each) => trial.groups[Number(each) - 1] === undefined);
  if (wrong !== undefined) throw new Error(`--group ${wrong}: expected 1 to ${trial.groups.length}`);
  return group === undefined ? trial.groups : trial.groups.filter((_, index) => group.includes(String(index + 1)));
}

function chosenPolicies(): readonly NodePolicy[] {
  const { policy: names } = values;
  const known = trial.policies.map(({ name }) => name as string);
  const wrong = names?.find((each) => !known.includes(each));
  if (wrong !== undefined) throw new Error(`--policy ${wrong}: expected ${known.join(" or ")}`);
  return names === undefined ? trial.policies : trial.policies.filter(({ name }) => names.includes(name));
}

function workTree(): WorkTree {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", `safe.directory=${root}`, ...args], { cwd: root, encoding: "utf8" }).trim();
  return { commit: git("rev-parse", "HEAD"), changes: git("status", "--porcelain") };
}

async function runPolicy(policy: NodePolicy): Promise<PolicyRun> {
  const directory = join(reports, policy.name);
  mkdirSync(directory, { recursive: true });
  await using controlPlane = await startControlPlane({
    flags: { "kube-apiserver": { "advertise-address": nodeAddress ?? "", "allow-privileged": "true" } },
  });
  const start = trial.provider === "kubernetes" ? startVirtualNode : startNode;
  await using _node = await start({
    controlPlane,
    name: trial.provider,
    dockerHost: engine.api.host,
    sandboxImage: "registry.k8s.io/pause:3.10.2",
    address: nodeAddress ?? "",
    kubeletPort: 10250,
    directory,
    policy: policy.policy,
  });
  await using observer = await PodObserver.follow(controlPlane);
  const outcomes: GroupOutcome[] = [];
  for (const [index, group] of groups.entries()) {
    outcomes.push(await runGroup(group, { policy, controlPlane, observer, directory, name: String(index + 1) }));
    // Written after each group, so that an interrupted run keeps its results.
    writeFileSync(join(directory, "outcomes.json"), JSON.stringify(outcomes.map(groupRecord), undefined, 2));
  }
  return { policy, kubernetes: controlPlane.version, outcomes };
}

async function record(): Promise<void> {
  const { Version: engineVersion } = (await engine.api.json("GET", "/version")) as { Version: string };
  const { CgroupVersion: cgroups } = (await engine.api.json("GET", "/info")) as { CgroupVersion: string };
  const run: ConformanceRun = {
    commit: tree.commit,
    date,
    circumstances: [
      `Kubernetes ${runs[0]?.kubernetes}, tests of ${programs.version}, ${values.procs} at once, no retries`,
      `Docker ${engineVersion}, cgroup v${cgroups}; images are stand-ins made of Busybox and programs of Kubernetes' source`,
      `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`,
    ],
    policies: runs.map(({ policy: { name, about }, outcomes }) => ({ name, about, groups: outcomes.map(groupRecord) })),
  };
  writeFileSync(trial.record, renderConformanceRun(run));
  writeFileSync(guide, replaceRegion(readFileSync(guide, "utf8"), trial.region, conformanceSections(run, trial.heading)));
  console.log(`written to ${guide}`);
}

/** Settings of a run of a group. */
interface Surroundings {
  readonly policy: NodePolicy;
  readonly controlPlane: ControlPlane;
  readonly observer: PodObserver;
  /** Folder for logs and reports. */
  readonly directory: string;
  /** Name of the reports. */
  readonly name: string;
}

/** Determines which tests belong to the group, and runs them. */
async function runGroup({ title, focus, focusFile, skip, leftOut = [] }: SpecGroup, surroundings: Surroundings): Promise<GroupOutcome> {
  const { policy, controlPlane, observer, directory, name } = surroundings;
  const belongs = [`--focus=${focus}`, `--focus-file=${focusFile}`];
  const dryRun = ["--dry-run", ...belongs, `--skip=${skip}`];
  const all = [...chosenSpecs(await runGinkgo(programs.directory, dryRun, [], join(directory, `chosen-${name}.json`)))];
  const leaves = (rule: LeftOut, spec: string): boolean => new RegExp(rule.tests).test(spec);
  const chosen = new Set(all.filter((spec) => !leftOut.some((rule) => leaves(rule, spec))));
  const filter = [...belongs, `--skip=${[skip, ...leftOut.map(({ tests }) => tests)].join("|")}`];
  console.log(`policy ${policy.name}: ${title}: ${chosen.size} of ${all.length} tests; logs and reports are in ${directory}`);
  observer.drain();
  const began = performance.now();
  const report = await runGinkgo(
    programs.directory,
    [...filter, `--procs=${values.procs}`, "--timeout=3h"],
    [
      "--provider=skeleton",
      `--kubeconfig=${controlPlane.kubeconfig.path}`,
      `--kubectl-path=${join(controlPlanePrograms, "kubectl")}`,
      "--minStartupPods=0",
      "--num-nodes=1",
    ],
    join(directory, `report-${name}.json`),
  );
  const minutes = minutesSince(began);
  const { starts, refusals } = observer.drain();
  const judge = (result: SpecResult): JudgedSpec => ({
    ...result,
    who: whoInsteadOfKubelet(result),
    limit: result.passed ? undefined : limitOf(result, policy, refusals),
  });
  const results = specResults(report, chosen).map(judge);
  const counted = leftOut.map((rule) => ({ ...rule, count: all.filter((spec) => leaves(rule, spec)).length }));
  return { title, results, minutes, starts, leftOut: counted };
}

function minutesSince(ms: number): number {
  return (performance.now() - ms) / 60_000;
}

/** Reason why a test cannot pass here; `undefined` if it can. The policy is a reason only if it does not allow everything. */
function limitOf({ name, output }: SpecResult, policy: NodePolicy, refusals: ReadonlyMap<string, string>): string | undefined {
  const refused = policy.policy === undefined ? refusalIn(output, refusals) : undefined;
  return refused === undefined ? knownLimit(name) : `the policy refuses its pod: ${refused}`;
}
