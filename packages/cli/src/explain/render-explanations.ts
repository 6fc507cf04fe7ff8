import { wrap } from "../command-line/help-text.ts";
import type { Explanation, ExplanationKind } from "./explanation.ts";
import { firstOfEachList } from "./find-explanations.ts";

/** Width that fits a terminal of 80 columns. */
const width = 78;

/** Stands for a space at which no line is broken. */
const unbroken = "\u00a0";

const headings: Readonly<Record<ExplanationKind, string>> = {
  "error code": "Error codes",
  reason: "Reasons of events, pods, containers and conditions",
  condition: "Conditions of nodes and pods",
  field: "Fields for which a pod may be refused",
  "exit code": "Exit codes",
};

/** Explanations in full, as lines of a terminal. */
export function renderExplanations(found: readonly Explanation[]): string {
  return found.map(renderOne).join("\n");
}

function renderOne({ kind, name, writtenBy, where, meaning, remedy }: Explanation): string {
  const isShownByAll = kind === "exit code" || kind === "field";
  return [
    `${name} (${kind})`,
    "",
    ...indented(meaning),
    "",
    "  Where:",
    ...where.flatMap((place) => indented(place, "    ")),
    ...(isShownByAll ? [] : indented(`written by ${writtenBy.join(", ")}`, "    ")),
    "",
    "  What to do:",
    ...indented(remedy, "    "),
    "",
  ].join("\n");
}

/** Names of everything that can be explained, by kind. */
export function renderList(all: readonly Explanation[]): string {
  const kinds = ["error code", "reason", "condition", "field", "exit code"] as const;
  const groups = kinds.flatMap((kind) => {
    const ofKind = all.filter((each) => each.kind === kind);
    const names = [...new Set((kind === "field" ? firstOfEachList(ofKind) : ofKind).map(({ name }) => name))];
    const lines = kind === "field" ? names.map((name) => `  ${name}`) : indented(names.join(", "));
    return [`${headings[kind]}:`, ...lines, ""];
  });
  return [...groups, 'Explain one: "virtual-kubelet explain NAME".', ""].join("\n");
}

/** Lines of a text. A command in backquotes stays on one line if it fits, so that it can be copied. */
function indented(text: string, by: string = "  "): string[] {
  const most = width - by.length;
  const kept = text.replaceAll(/`[^`]+`/g, (command) => (command.length < most ? command.replaceAll(" ", unbroken) : command));
  return wrap(kept, most).map((line) => `${by}${line.replaceAll(unbroken, " ")}`);
}
