import type { Region } from "./mutants.ts";

/** Global set in which a run test file's regions are collected. */
export const reachedName = "__mutationRegionsReached";

/** Name of a region among all files of a package. */
export function regionName(file: string, region: number): string {
  return `${file}#${region}`;
}

/** The source with a statement at the start of each region, and of the module, that adds the region to the global set. */
export function addProbes(file: string, text: string, regions: readonly Region[]): string {
  const inserts = regions.flatMap(({ id, start, end, expression }) =>
    expression
      ? [
          { at: start, order: id, text: `(${probe(file, id)}, ` },
          { at: end, order: -id, text: ")" },
        ]
      : [{ at: start + 1, order: id, text: `${probe(file, id)};` }],
  );
  inserts.sort((one, other) => one.at - other.at || one.order - other.order);
  let result = `${probe(file, 0)};`;
  let done = 0;
  for (const insert of inserts) {
    result += text.slice(done, insert.at) + insert.text;
    done = insert.at;
  }
  return result + text.slice(done);
}

function probe(file: string, region: number): string {
  return `(globalThis.${reachedName} ??= new Set()).add(${JSON.stringify(regionName(file, region))})`;
}
