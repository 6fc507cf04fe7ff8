import { findControlPlane } from "@virtual-kubelet/testing";
import { mkdirSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureKubernetesE2e } from "../../tools/kubernetes-e2e.ts";
import { root } from "../../tools/workspace.ts";
import { chosenSpecs, specResults, type SpecResult } from "../kubernetes/ginkgo-report.ts";
import { runGinkgo } from "../kubernetes/run-ginkgo.ts";
import { startEmbeddedCluster, type EmbeddedCluster } from "./embedded-cluster.ts";
import { ambiguous, namedBy, sigTests } from "./expectations.ts";

/** Most tests wait for timers and for pods. */
const parallel = 6;
/** Their time-outs of seconds are too short for moments in which other levels use all processors. Who needed a second attempt is printed. */
const attempts = 2;
/** Tests of rolling updates need several nodes. */
const nodes = 2;

const directory = join(root, ".reports/sigs");
mkdirSync(directory, { recursive: true });
const programs = (await ensureKubernetesE2e()).directory;
const focus = `\\[(${sigTests.map(({ sig }) => sig).join("|")})\\].*\\[Conformance\\]`;
// A dry run names the tests, because Vitest has to know them before they run.
const names = chosenSpecs(await runGinkgo(programs, ["--dry-run", `--focus=${focus}`], [], join(directory, "chosen.json")));

let cluster: EmbeddedCluster;
let results: ReadonlyMap<string, SpecResult>;
beforeAll(async () => {
  const address = networkInterfaces()["lo"]?.find(({ family, address: each }) => family === "IPv4" && !each.startsWith("127."))?.address;
  const controlPlane = findControlPlane({ programs: ["kubectl"] });
  if (address === undefined || controlPlane.status !== "found")
    throw new Error("these tests need private namespaces and kubectl: run make test LEVEL=sigs");
  const kubectl = join(controlPlane.directory, "kubectl");
  cluster = await startEmbeddedCluster({ directory, address, nodes, programs, kubectl });
  const skip = sigTests.flatMap(({ leftOut }) => Object.keys(leftOut)).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const report = await runGinkgo(
    programs,
    [
      `--focus=${focus}`,
      `--skip=${skip.join("|")}`,
      `--procs=${String(parallel)}`,
      `--flake-attempts=${String(attempts)}`,
      "--timeout=50m",
    ],
    [
      "--provider=skeleton",
      `--kubeconfig=${cluster.kubeconfig}`,
      `--kubectl-path=${kubectl}`,
      "--minStartupPods=0",
      `--num-nodes=${String(nodes)}`,
    ],
    join(directory, "report.json"),
  );
  results = new Map(specResults(report, names).map((result) => [result.name, result]));
  for (const { name, attempts: needed } of results.values()) if (needed > 1) console.log(`attempt ${String(needed)}: ${name}`);
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe.each(sigTests)("$sig", ({ sig, knownMisses, leftOut }) => {
  const all = [...names].filter((name) => name.startsWith(`[${sig}]`));
  const misses = namedBy(knownMisses, all);
  const omitted = namedBy(leftOut, all);

  test("each exception names one test", () => {
    expect(all.length).toBeGreaterThan(50);
    expect([...ambiguous(knownMisses, all), ...ambiguous(leftOut, all)]).toEqual([]);
  });

  test.each(all.filter((name) => !misses.includes(name) && !omitted.includes(name)))("%s passes", (name) => {
    const { passed, reason } = results.get(name) ?? { passed: false, reason: "it was not run" };
    expect(passed, reason).toBe(true);
  });

  test.each(misses)("%s fails, as the list says", (name) => expect(results.get(name)?.passed).toBe(false));
});
