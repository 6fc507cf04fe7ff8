/** Indexes in a Job's status, such as `1,3-5`. Source of this file: Kubernetes v1.36.3 pkg/controller/job/indexed_job_utils.go. */

/** Parses indexes. Malformed ones, and those not below `completions`, are dropped. */
export function parseIndexes(text: string | undefined, completions: number): ReadonlySet<number> {
  const indexes = new Set<number>();
  for (const interval of text?.split(",") ?? []) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(interval);
    if (match === null) continue;
    const first = Number(match[1]);
    const last = Math.min(Number(match[2] ?? first), completions - 1);
    for (let index = first; index <= last; index++) indexes.add(index);
  }
  return indexes;
}

/** Formats indexes. Two consecutive ones are joined by a comma, more by a hyphen. */
export function formatIndexes(indexes: Iterable<number>): string {
  const intervals: { first: number; last: number }[] = [];
  for (const index of [...indexes].toSorted((a, b) => a - b)) {
    const latest = intervals.at(-1);
    if (latest !== undefined && index <= latest.last + 1) latest.last = index;
    else intervals.push({ first: index, last: index });
  }
  return intervals.map(({ first, last }) => (first === last ? `${first}` : `${first}${last === first + 1 ? "," : "-"}${last}`)).join(",");
}

/**
 * Counts indexes that a client has written.
 * Source: pkg/apis/batch/validation/validation.go, validateIndexesFormat.
 *
 * @returns an error message if the text is malformed
 */
export function checkIndexes(text: string, completions: number): number | string {
  if (text === "") return 0;
  let previous: number | undefined;
  let total = 0;
  for (const interval of text.split(",")) {
    const limits = interval.split("-");
    if (limits.length > 2)
      return `the fragment ${JSON.stringify(interval)} violates the requirement that an index interval can have at most two parts separated by '-'`;
    const numbers = limits.map(Number);
    for (const [at, limit] of limits.entries()) {
      if (!/^[+]?\d+$/.test(limit)) return `cannot convert string to integer for index: ${JSON.stringify(limit)}`;
      if ((numbers[at] ?? 0) >= completions) return `too large index: ${JSON.stringify(limit)}`;
    }
    const [first = 0, last = first] = numbers;
    if (limits.length === 2 && first >= last) return `non-increasing order, previous: ${first}, current: ${last}`;
    if (previous !== undefined && previous >= first) return `non-increasing order, previous: ${previous}, current: ${first}`;
    total += last - first + 1;
    previous = last;
  }
  return total;
}
