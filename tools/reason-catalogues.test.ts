import { expect, test } from "vitest";
import { reasonProblems, type ReasonPackage, type WrittenReason } from "./reason-catalogues.ts";

const info = { on: ["podEvent"], meaning: "It is so.", remedy: "Wait." } as const;
const acme: ReasonPackage = { folder: "providers/acme", own: { AcmeAway: info, "AcmeOf*": info } };

function written(text: string, given: Partial<WrittenReason> = {}): WrittenReason {
  return { folder: "providers/acme", place: "providers/acme/src/a.ts:1", text, isPattern: false, ...given };
}

const isWhole = [written("AcmeAway"), written("^AcmeOf[\\w./-]+$", { isPattern: true })];

test("reasons of the package's catalogue and of core's are explained", () => {
  expect(reasonProblems([acme], [...isWhole, written("ProviderLost")])).toEqual([]);
});

test("a reason without an explanation is found at its place", () => {
  expect(reasonProblems([acme], [...isWhole, written("AcmeLost")])).toEqual([
    "providers/acme/src/a.ts:1: the reason AcmeLost is in no catalogue; add it to the reasons of providers/acme, with what it means and what to do",
  ]);
});

test("another package's catalogue does not count", () => {
  const other: ReasonPackage = { folder: "providers/other", own: {} };

  expect(reasonProblems([acme, other], [...isWhole, written("AcmeAway", { folder: "providers/other" })])).toHaveLength(1);
});

test("an explanation of a reason that nothing writes is found", () => {
  expect(reasonProblems([acme], [written("AcmeAway")])).toEqual([
    "providers/acme: the catalogue explains the reason AcmeOf*, which no source writes; remove it",
  ]);
});
