/** `make test`: runs levels of tests, two at a time, and prints the counts alone on the last line. */
import { chosenKubernetes } from "../packages/testing/src/control-plane/kubernetes-version.ts";
import { levels, otherCommands } from "./test-run/levels.ts";
import type { Level } from "./test-run/level.ts";
import { belongsTo, packageNames } from "./test-run/package-tests.ts";
import { levelNamed, runLevel, whyMissing } from "./test-run/run-level.ts";
import { runSideBySide } from "./test-run/schedule.ts";
import { select, type Selection } from "./test-run/selection.ts";
import { summary } from "./test-run/summary.ts";
import { findTestFiles } from "./test-run/test-files.ts";

const selection = readSelection();
const work = await chooseWork(selection);
if (work.length === 0) {
  const { package: owner, files, levels: names } = selection;
  const asked = [
    `LEVEL=${names.join(" ")}`,
    owner === undefined ? [] : `PACKAGE=${owner}`,
    files.length === 0 ? [] : `FILES=${files.join(" ")}`,
  ].flat();
  console.error(`no test belongs to ${asked.join(", ")}; expected at least one test file, see the names in CONTRIBUTING.md`);
  process.exit(2);
}
const runs = work.map(({ level }) => level);
for (const level of runs) if (whyMissing(level) === undefined) level.prepare?.().catch(() => undefined);

const outcomes = await runSideBySide(
  work.map(({ level, files }) => ({ kind: level.kind, level, files })),
  ({ level, files }) => runLevel(level, { files, requireAll: selection.requireAll, live: work.length === 1 }),
);
for (const line of summary(outcomes, notes())) console.log(line);
if (outcomes.some(({ counts }) => counts.failed > 0)) process.exitCode = 1;

function readSelection(): Selection {
  try {
    // Refuses a wrong version before anything runs.
    chosenKubernetes(process.env);
    return select(process.env, { levels, packages: packageNames() });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return process.exit(2);
  }
}

/** The selected levels with the files to which they are narrowed; with a package, only levels that have tests of it. */
async function chooseWork({ levels: names, files, package: owner }: Selection): Promise<{ level: Level; files: readonly string[] }[]> {
  const selected = names.map((name) => levelNamed(name));
  if (owner === undefined) return selected.map((level) => ({ level, files: level.hasFiles ? files : [] }));
  const found = await findTestFiles();
  return selected.flatMap((level) => {
    const own = (found.get(level.name) ?? []).filter(
      (file) => belongsTo(file, owner) && (files.length === 0 || files.some((part) => file.includes(part))),
    );
    return own.length === 0 ? [] : [{ level, files: own }];
  });
}

function notes(): string[] {
  const { notRun, package: owner, files } = selection;
  if (notRun.length > 0) return [`not run: ${notRun.join(", ")}; make test ALL=1 runs every level`];
  if (owner !== undefined || files.length > 0 || process.env["LEVEL"]) return [];
  return otherCommands.map(({ command, about }) => `not part of it: ${command}: ${about}`);
}
