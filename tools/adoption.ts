import type { MatrixColumn } from "./capability-matrix.ts";
import { runsOf } from "./conformance-record.ts";

/** Display names of the providers whose pods are told apart here. */
const names: Readonly<Record<string, string>> = {
  docker: "Docker",
  kubernetes: "another cluster",
  mock: "the mock provider",
  nomad: "Nomad",
  zun: "Zun",
};

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** Whose pods outlive the program, from the results of the provider suite (`adoption`). */
export function renderAdoption(columns: readonly MatrixColumn[]): string {
  const known = columns.filter(({ provider }) => provider in names);
  const resultOf = ({ record }: MatrixColumn): string | undefined =>
    runsOf(record)
      .map(([, { features }]) => features.adoption?.state)
      .find((state) => state === "passed" || state === "lacking");
  const of = (result: "passed" | "lacking"): string[] =>
    known.filter((column) => resultOf(column) === result).map(({ provider }) => names[provider] ?? provider);
  return [
    `Pods of ${listed(of("passed"))} outlive the program: the next start finds them and restarts none.`,
    `Pods of ${listed(of("lacking"))} exist in the program only: the next start goes on with them as their statuses at the API server show.`,
    "Which it is for another provider, [the table of features](providers.md) says under `adoption`.",
  ].join(" ");
}
