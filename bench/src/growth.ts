/**
 * Measures memory and processor time a pod for our node and the bare loop, by the number of pods, and the pauses of the node's event loop
 * while it lists many pods. Writes `bench/data/growth.json`; `make generate` makes the guide's pictures and table of it.
 *
 * Usage, after `make build`: growth.ts [--sizes 100,500,2000,5000,10000,20000] [--list 20000] [--out FILE]
 */
import { startControlPlane } from "@virtual-kubelet/testing";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { readAccess } from "./api.ts";
import { stopChild } from "./children.ts";
import { circumstances } from "./circumstances.ts";
import { bareLoop, nodeOf, ours } from "./contenders.ts";
import { measureFirstList } from "./first-list.ts";
import { growthFile, type GrowthData, type GrowthRun } from "./growth-data.ts";
import { runLoad } from "./load.ts";
import { waitUntilReady } from "./node-ready.ts";
import { residentMiB } from "./process-stats.ts";

const contenders = { ours, "bare loop": bareLoop } as const;
const timeoutMs = 600_000;

/** Gives one program a number of pods, on an API server of its own. */
async function measureRun(name: GrowthRun["contender"], pods: number): Promise<GrowthRun & { readonly kubernetes: string }> {
  await using controlPlane = await startControlPlane({
    components: [],
    flags: { "kube-apiserver": { "disable-admission-plugins": "ServiceAccount" } },
  });
  const site = { kubeconfig: controlPlane.kubeconfig.path, directory: mkdtempSync(join(tmpdir(), "bench-growth-")) };
  const access = readAccess(site.kubeconfig);
  const contender = contenders[name];
  const child = contender.start(site);
  const pid = child.pid ?? 0;
  try {
    await waitUntilReady(access, nodeOf(contender), site.directory);
    await delay(3_000);
    const idleMiB = residentMiB(pid);
    const { up } = await runLoad({
      access,
      node: nodeOf(contender),
      pods,
      concurrency: 16,
      processes: { program: pid },
      timeoutMs,
      keep: true,
    });
    await delay(10_000);
    return {
      contender: name,
      pods,
      podsPerSecond: up.podsPerSecond,
      missing: up.missing,
      cpuSeconds: up.cpuSeconds["program"] ?? Number.NaN,
      idleMiB: oneDigit(idleMiB),
      peakMiB: oneDigit(up.peakRssMiB["program"] ?? Number.NaN),
      restMiB: oneDigit(residentMiB(pid)),
      kubernetes: controlPlane.version,
    };
  } finally {
    await stopChild(child);
    rmSync(site.directory, { recursive: true, force: true });
  }
}

function oneDigit(value: number): number {
  return Math.round(value * 10) / 10;
}

const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: "100,500,2000,5000,10000,20000" },
    list: { type: "string", default: "20000" },
    out: { type: "string", default: growthFile },
  },
});
const runs: GrowthRun[] = [];
let kubernetes = "";
for (const [index, pods] of values.sizes.split(",").map(Number).entries()) {
  // Each size begins with the other program.
  const names = Object.keys(contenders) as GrowthRun["contender"][];
  for (const name of index % 2 === 0 ? names : names.toReversed()) {
    const { kubernetes: version, ...run } = await measureRun(name, pods);
    kubernetes = version;
    runs.push(run);
    process.stderr.write(`${JSON.stringify(run)}\n`);
  }
}
const firstList = await measureFirstList(Number(values.list));
process.stderr.write(`first list: longest pause ${Math.max(...firstList.ours)} ms, of an idle loop ${Math.max(...firstList.idle)} ms\n`);
const data: GrowthData = { circumstances: circumstances(), kubernetes, runs, firstList };
mkdirSync(dirname(values.out), { recursive: true });
// A run or a list of pauses on one line keeps the file short.
const text = JSON.stringify(data, undefined, 1).replaceAll(/\[[^[\]{}]*\]|\{[^{}[\]]*\}/g, (part) => part.replaceAll(/\s*\n\s*/g, " "));
writeFileSync(values.out, `${text}\n`);
process.stderr.write(`wrote ${values.out}; \`make generate\` writes the guide\n`);
