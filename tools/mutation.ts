import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findAccepted, parseAccepted } from "./mutation/accepted.ts";
import { applyMutant, findMutants, isParsed, type Mutant } from "./mutation/mutants.ts";
import { packageFolder, productFiles, type ProductFile } from "./mutation/package-files.ts";
import { addProbes, regionName } from "./mutation/probes.ts";
import { RunnerProcess } from "./mutation/runner-process.ts";
import type { RunnerOptions } from "./mutation/protocol.ts";
import { identityOf, takeSample } from "./mutation/sample.ts";
import { percentNoticed, promisedPackages, promisedPercent, writeScore, type Fate, type Score } from "./mutation/score.ts";
import { root } from "./workspace.ts";

/** Mutants tried unless SAMPLE says otherwise; a run of fewer is not recorded. */
const usualSample = 150;

/** Time limit of one test and one hook; most take milliseconds, but machines can be busy. */
const testTimeoutMs = 15_000;

/** Limit of the runs without a mutant. */
const baselineLimitMs = 600_000;

/** A mutant and its outcome. */
interface Tried {
  readonly mutant: Mutant;
  readonly fate: Fate;
  /** The test that failed. */
  readonly by: string;
  readonly seconds: number;
}

/** The package's test files, and the regions that each file reaches. */
interface Baseline {
  /** Test files by region. Files that reach the fewest regions come first, because they are the most likely to test the region. */
  readonly testsByRegion: ReadonlyMap<string, readonly string[]>;
  readonly durationMs: ReadonlyMap<string, number>;
}

function numberFrom(name: string, fallback: number): number {
  const text = process.env[name];
  const value = text === undefined || text === "" ? fallback : Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new Error(`${name} is "${text}"; expected a whole number, 1 or more`);
}

/** Runs all tests with probes in the sources to find the regions that each test file reaches. @throws if a test fails without a mutant */
async function recordBaseline(folder: string, files: readonly ProductFile[], maxWorkers: number): Promise<Baseline> {
  const texts = Object.fromEntries(
    files.map(({ path, text }) => [join(root, path), addProbes(path, text, findMutants(path, text).regions)]),
  );
  await using runner = new RunnerProcess({ folder, recordReach: true, pool: "forks", maxWorkers, testTimeoutMs: testTimeoutMs * 4 });
  const result = await runner.run({ texts, tests: await runner.tests() }, baselineLimitMs);
  if (result.outcome !== "passed") throw new Error(`the tests of ${folder} fail without any mutant: ${result.failure}`);
  const ordered = result.files.toSorted((one, other) => one.reached.length - other.reached.length);
  const testsByRegion = new Map<string, string[]>();
  for (const { file, reached } of ordered)
    for (const region of reached) testsByRegion.set(region, [...(testsByRegion.get(region) ?? []), file]);
  return { testsByRegion, durationMs: new Map(result.files.map(({ file, durationMs }) => [file, durationMs])) };
}

/** Tries one mutant on the test files that reach it. */
async function tryMutant(mutant: Mutant, text: string, baseline: Baseline, runner: RunnerProcess): Promise<Tried> {
  const start = performance.now();
  const ended = (fate: Fate, by: string): Tried => ({ mutant, fate, by, seconds: (performance.now() - start) / 1000 });
  const tests = baseline.testsByRegion.get(regionName(mutant.file, mutant.region)) ?? [];
  if (tests.length === 0) return ended("not covered", "");
  const mutated = applyMutant(text, mutant);
  if (!isParsed(mutated)) return ended("invalid", "");
  const usualMs = tests.reduce((sum, test) => sum + (baseline.durationMs.get(test) ?? 0), 0);
  const { outcome, failure } = await runner.run({ texts: { [join(root, mutant.file)]: mutated }, tests }, testTimeoutMs * 2 + usualMs * 5);
  const fates = { passed: "survived", failed: "noticed", "timed out": "timed out", invalid: "invalid" } as const;
  return ended(fates[outcome], failure);
}

/** Returns the fastest pool in which all of the package's tests pass in one worker, as mutants are tested. @throws if they pass in no pool */
async function findPool(folder: string): Promise<RunnerOptions["pool"]> {
  let failures = "";
  for (const pool of ["threads", "forks"] as const) {
    await using runner = new RunnerProcess({ folder, recordReach: false, pool, maxWorkers: 1, testTimeoutMs });
    const { outcome, failure } = await runner.run({ texts: {}, tests: await runner.tests() }, baselineLimitMs);
    if (outcome === "passed") return pool;
    failures += `; ${pool}: ${failure}`;
  }
  throw new Error(`the tests of ${folder} fail together in one worker, without any mutant${failures}`);
}

/** Tests the mutants, several at a time, and reports progress. */
async function tryAll(
  mutants: readonly Mutant[],
  options: { readonly folder: string; readonly texts: ReadonlyMap<string, string>; readonly baseline: Baseline; readonly workers: number },
): Promise<Tried[]> {
  const { folder, texts, baseline, workers } = options;
  const tried: Tried[] = [];
  const waiting = [...mutants];
  const pool = await findPool(folder);
  const work = async (): Promise<void> => {
    await using runner = new RunnerProcess({ folder, recordReach: false, pool, maxWorkers: 1, testTimeoutMs });
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const one = await tryMutant(mutant, texts.get(mutant.file) ?? "", baseline, runner);
      tried.push(one);
      if (one.fate === "survived" || one.fate === "not covered") console.log(`${one.fate.padEnd(11)} ${describe(mutant)}`);
      if (tried.length % 25 === 0) console.log(`  ${tried.length} of ${mutants.length}`);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return tried;
}

function describe({ file, line, original, mutated, within }: Mutant): string {
  return `${file}:${line}  ${within === "" ? "" : `${within}: `}${original}  ->  ${mutated}`;
}

/** An entry of the file of accepted mutants, for the reason to be filled in. */
function entryOf({ file, within, original, mutated, nth }: Mutant): string {
  const lines = [`- file: ${file}`, ...(within === "" ? [] : [`  in: ${JSON.stringify(within)}`])];
  lines.push(`  original: ${JSON.stringify(original)}`, `  mutant: ${JSON.stringify(mutated)}`, ...(nth === 1 ? [] : [`  nth: ${nth}`]));
  return [...lines, "  reason: "].join("\n");
}

function count(tried: readonly Tried[], fate: Fate): number {
  return tried.filter((one) => one.fate === fate).length;
}

/** Tests a sample of a package's mutants, writes the score and the report, and returns the problems. */
async function run(name: string): Promise<string[]> {
  const folder = packageFolder(name);
  if (folder === undefined) throw new Error(`PACKAGE is "${name}"; expected a folder of packages/ or providers/, such as core`);
  const [size, seed, workers] = [numberFrom("SAMPLE", usualSample), numberFrom("SEED", 1), numberFrom("WORKERS", 2)];
  const start = performance.now();
  const files = productFiles(folder);
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const mutants = files.flatMap(({ path, text }) => findMutants(path, text).mutants);
  const acceptedPath = join("tools/mutation/accepted", `${name}.yaml`);
  const entries = existsSync(join(root, acceptedPath)) ? parseAccepted(readFileSync(join(root, acceptedPath), "utf8"), acceptedPath) : [];
  const { found: accepted, gone } = findAccepted(entries, mutants);
  // These settings narrow a run while tests are being improved; such a run is not recorded as a score.
  const again = process.env["AGAIN"] === "1" ? notNoticedBefore(name) : undefined;
  const file = process.env["FILE"] ?? "";
  const isScore = again === undefined && file === "";
  const sample = takeSample(
    mutants.filter((mutant) => mutant.file.includes(file)),
    size,
    seed,
  );
  const chosen = again === undefined ? sample : sample.filter((mutant) => again.has(identityOf(mutant)));
  const besides = isScore ? [...accepted.keys()].filter((mutant) => !chosen.includes(mutant)) : [];
  console.log(`${folder}: ${mutants.length} mutants; ${chosen.length} tried, seed ${seed}`);
  const baseline = await recordBaseline(folder, files, workers);
  const all = await tryAll([...chosen, ...besides], { folder, texts, baseline, workers });
  const tried = all.filter(({ mutant, fate }) => chosen.includes(mutant) && fate !== "invalid");
  const notNoticed = tried.filter(({ fate }) => fate === "survived" || fate === "not covered");
  const score: Score = {
    mutants: mutants.length,
    sample: tried.length,
    seed,
    noticed: count(tried, "noticed"),
    timedOut: count(tried, "timed out"),
    survived: count(tried, "survived"),
    notCovered: count(tried, "not covered"),
    accepted: notNoticed.filter(({ mutant }) => accepted.has(mutant)).length,
  };
  if (isScore) writeReport(name, score, all);
  const open = notNoticed
    .filter(({ mutant }) => !accepted.has(mutant))
    .sort((one, other) => (describe(one.mutant) < describe(other.mutant) ? -1 : 1));
  if (open.length > 0)
    console.log(`\nfor ${acceptedPath}, if no test can tell:\n${open.map(({ mutant }) => entryOf(mutant)).join("\n")}\n`);
  const percent = percentNoticed(score);
  console.log(
    `${name}: ${score.noticed} noticed, ${score.timedOut} timed out, ${score.survived} survived, ${score.notCovered} not covered ` +
      `(${score.accepted} of these accepted): ${percent.toFixed(1)} % of ${score.sample}; ${Math.round((performance.now() - start) / 1000)} s`,
  );
  const problems = gone.map((entry) => `${acceptedPath}: there is no mutant any more for ${identityOf(entry)}`);
  for (const { mutant, fate, by } of all)
    if (accepted.has(mutant) && fate !== "survived" && fate !== "not covered")
      problems.push(`${acceptedPath}: is noticed, and needs no entry: ${describe(mutant)}: ${by}`);
  if (!isScore) return problems;
  if (promisedPackages.includes(name) && percent < promisedPercent)
    problems.push(`${name}: ${percent.toFixed(1)} % noticed; promised are ${promisedPercent} %`);
  if (size >= usualSample) writeScore(name, score);
  return problems;
}

function reportPath(name: string): string {
  return join(root, ".reports/mutation", `${name}.json`);
}

/** Identities of the surviving mutants in the last run's report. */
function notNoticedBefore(name: string): ReadonlySet<string> {
  if (!existsSync(reportPath(name)))
    throw new Error(`AGAIN=1 needs the report of an earlier run: run \`make mutation PACKAGE=${name}\` first`);
  const { tried } = JSON.parse(readFileSync(reportPath(name), "utf8")) as { readonly tried: readonly Tried[] };
  return new Set(tried.filter(({ fate }) => fate === "survived" || fate === "not covered").map(({ mutant }) => identityOf(mutant)));
}

function writeReport(name: string, score: Score, tried: readonly Tried[]): void {
  mkdirSync(join(root, ".reports/mutation"), { recursive: true });
  writeFileSync(reportPath(name), `${JSON.stringify({ score, tried }, undefined, 2)}\n`);
  console.log(`report: .reports/mutation/${name}.json`);
}

const problems = await run(process.env["PACKAGE"] ?? "");
for (const problem of problems) console.error(`FAIL ${problem}`);
if (problems.length > 0) process.exitCode = 1;
