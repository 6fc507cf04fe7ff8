import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { coreReasons } from "../packages/core/src/reasons/core-reasons.ts";
import type { ReasonCatalogue } from "../packages/core/src/reasons/reason-info.ts";
import { podRuntimeReasons } from "../packages/pod-runtime/src/reasons.ts";
import type { CheckResult } from "./check.ts";
import { readProviderList } from "./provider-list.ts";
import { findReasonLiterals } from "./reason-literals.ts";
import { templateFolders } from "./template-files.ts";
import { root } from "./workspace.ts";

/** A package whose sources write reasons. */
export interface ReasonPackage {
  /** Its folder, from the top. */
  readonly folder: string;
  /** Reasons that only this package may write. */
  readonly own: ReasonCatalogue;
}

/** A reason in a source. */
export interface WrittenReason {
  readonly folder: string;
  /** File and line, from the top. */
  readonly place: string;
  readonly text: string;
  readonly isPattern: boolean;
}

/** Words that stand where a reason may stand, and are none: types of events, and a label of a metric. */
const noReasons: ReadonlySet<string> = new Set(["Normal", "Warning", "Other"]);

/** The packages that write reasons, with their catalogues. */
async function reasonPackages(): Promise<readonly ReasonPackage[]> {
  const providers = readProviderList()
    .filter(({ external }) => !external)
    .map(({ tag }) => `providers/${tag}`);
  const definitions = await Promise.all(
    [...providers, ...Object.values(templateFolders), "examples/process-provider"].map(async (folder) => {
      const module: { readonly provider: { readonly reasons?: ReasonCatalogue } } = await import(
        pathToFileURL(join(root, folder, "src/provider.ts")).href
      );
      return { folder, own: module.provider.reasons ?? {} };
    }),
  );
  return [{ folder: "packages/core", own: coreReasons }, { folder: "packages/pod-runtime", own: podRuntimeReasons }, ...definitions];
}

/** The reasons in the sources of these packages, without tests and catalogues. */
function writtenReasons(packages: readonly ReasonPackage[]): readonly WrittenReason[] {
  return packages.flatMap(({ folder }) => {
    const files = globSync(`${folder}/src/**/*.ts`, { cwd: root }).filter((file) => !/\.test\.ts$|test-support|\/reasons[./]/.test(file));
    return files.flatMap((file) =>
      findReasonLiterals(file, readFileSync(join(root, file), "utf8"))
        .filter(({ text }) => !noReasons.has(text))
        .map(({ text, isPattern, line }) => ({ folder, place: `${file}:${line}`, text, isPattern })),
    );
  });
}

/** Reasons that a source writes and no catalogue explains, and reasons of catalogues that no source writes. */
export function reasonProblems(packages: readonly ReasonPackage[], written: readonly WrittenReason[]): readonly string[] {
  const unexplained = written.flatMap(({ folder, place, text, isPattern }) => {
    const own = packages.find((each) => each.folder === folder)?.own ?? {};
    const known = [...Object.keys(coreReasons), ...Object.keys(own)];
    if (known.some((name) => matches(name, { text, isPattern }))) return [];
    return [`${place}: the reason ${text} is in no catalogue; add it to the reasons of ${folder}, with what it means and what to do`];
  });
  const names = packages.flatMap(({ folder, own }) => Object.keys(own).map((name) => ({ folder, name })));
  const unwritten = names.flatMap(({ folder, name }) => {
    if (written.some((each) => matches(name, each))) return [];
    return [`${folder}: the catalogue explains the reason ${name}, which no source writes; remove it`];
  });
  return [...unexplained, ...unwritten];
}

function matches(name: string, { text, isPattern }: Pick<WrittenReason, "text" | "isPattern">): boolean {
  return isPattern ? new RegExp(text).test(name.replace("*", "cpu")) : name === text;
}

/** Whether sources and catalogues of reasons agree. */
export async function checkReasons(): Promise<readonly CheckResult[]> {
  const packages = await reasonPackages();
  return [
    {
      name: "every reason is in a catalogue, and every catalogue's reason is written",
      problems: reasonProblems(packages, writtenReasons(packages)),
    },
  ];
}
