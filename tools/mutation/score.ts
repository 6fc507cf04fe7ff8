import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { root } from "../workspace.ts";

/** How a mutant fared. */
export type Fate = "noticed" | "timed out" | "survived" | "not covered" | "invalid";

/** What a run over a package found, as it is committed. */
export interface Score {
  /** Mutants that the package has in all. */
  readonly mutants: number;
  /** Mutants that were tried. */
  readonly sample: number;
  readonly seed: number;
  /** A test failed. */
  readonly noticed: number;
  /** The tests no longer ended, which is noticed too. */
  readonly timedOut: number;
  readonly survived: number;
  /** No unit test of the package runs the place. */
  readonly notCovered: number;
  /** Of those that survived or are not covered: listed with a reason. */
  readonly accepted: number;
}

const schema = z.strictObject({
  mutants: z.int(),
  sample: z.int(),
  seed: z.int(),
  noticed: z.int(),
  timedOut: z.int(),
  survived: z.int(),
  notCovered: z.int(),
  accepted: z.int(),
});

/** Share in per cent that unit tests have to notice where {@link promisedPackages} names the package. */
export const promisedPercent = 85;

/** Packages whose runs fail below {@link promisedPercent}. */
export const promisedPackages: readonly string[] = ["core", "kube-client", "kubelet-api", "pod-runtime"];

/** Parses a committed score. @throws Error with one line */
export function parseScore(text: string, path: string): Score {
  const parsed = schema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${path}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is no score"}; run \`make mutation\` again`);
}

const scoreFolder = "tools/mutation/scores";

/** The committed scores by package. @throws as {@link parseScore} does */
export function readScores(): Record<string, Score> {
  const paths = globSync(`${scoreFolder}/*.json`, { cwd: root }).sort();
  return Object.fromEntries(paths.map((path) => [basename(path, ".json"), parseScore(readFileSync(join(root, path), "utf8"), path)]));
}

/** Notes what a run found, to be committed. */
export function writeScore(name: string, score: Score): void {
  mkdirSync(join(root, scoreFolder), { recursive: true });
  writeFileSync(join(root, scoreFolder, `${name}.json`), `${JSON.stringify(score, undefined, 2)}\n`);
}

/** Share of the sample that was noticed, accepted survivors counted as not noticed, in per cent. */
export function percentNoticed({ sample, noticed, timedOut }: Pick<Score, "sample" | "noticed" | "timedOut">): number {
  return sample === 0 ? 0 : ((noticed + timedOut) / sample) * 100;
}

/** The guide's table: a line for each package. */
export function renderScores(scores: Readonly<Record<string, Score>>): string {
  const rows = Object.entries(scores).map(([name, score]) =>
    [
      `\`${name}\``,
      score.mutants.toLocaleString("en"),
      String(score.sample),
      String(score.noticed + score.timedOut),
      String(score.survived),
      String(score.notCovered),
      String(score.accepted),
      `${Math.floor(percentNoticed(score))} %${promisedPackages.includes(name) ? ` (promised: ${promisedPercent} %)` : ""}`,
    ].join(" | "),
  );
  return [
    "| Package | Mutants | Sample | Noticed | Survived | Not covered | Of these accepted | Score |",
    "| --- | --: | --: | --: | --: | --: | --: | --- |",
    ...rows.map((row) => `| ${row} |`),
  ].join("\n");
}
