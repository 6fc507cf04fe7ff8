/**
 * The most similar name, if it is similar enough: at most a third of the letters are added, missing, wrong or swapped with their neighbor,
 * or one name is a prefix of the other.
 */
export function nearest(written: string, names: readonly string[]): string | undefined {
  const lowered = written.toLowerCase();
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const name of names) {
    const distance = editDistance(lowered, name.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  if (best === undefined) return undefined;
  const isNear = bestDistance <= Math.max(1, Math.floor(best.length / 3));
  return isNear || isBeginning(lowered, best.toLowerCase()) || isBeginning(best.toLowerCase(), lowered) ? best : undefined;
}

/** `; did you mean X?` for the most similar name, or an empty string. */
export function didYouMean(written: string, names: readonly string[], prefix: string = ""): string {
  const name = nearest(written, names);
  return name === undefined ? "" : `; did you mean ${prefix}${name}?`;
}

function isBeginning(short: string, long: string): boolean {
  return short.length >= 3 && long.startsWith(short);
}

/** Source: the optimal string alignment distance, as in Wagner and Fischer with transpositions. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const candidates = [(previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (previous[column - 1] ?? 0) + (isSame ? 0 : 1)];
      if (isSwap) candidates.push((beforePrevious[column - 2] ?? 0) + 1);
      current.push(Math.min(...candidates));
    }
    [beforePrevious, previous] = [previous, current];
  }
  return previous[b.length] ?? 0;
}
