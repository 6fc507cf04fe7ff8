/** Order of keys: numbers in them by their value, letters after other characters. Source: go.yaml.in/yaml/v2 v2.4.3 sorter.go. */
export function byNaturalOrder(first: string, second: string): number {
  const [a, b] = [Array.from(first), Array.from(second)];
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [left = "", right = ""] = [a[at], b[at]];
    if (left === right) continue;
    const [isLeft, isRight] = [isLetter(left), isLetter(right)];
    if (isLeft && isRight) return byCodePoint(left, right);
    if (isLeft || isRight) return isRight ? -1 : 1;
    return byNumber(a, b, at) || byCodePoint(left, right);
  }
  return a.length - b.length;
}

function byNumber(a: readonly string[], b: readonly string[], at: number): number {
  // Zeros inside of a number count, those before it do not.
  let start = 0n;
  if (a[at] === "0" || b[at] === "0")
    for (let before = at - 1; before >= 0 && isDigit(a[before]); before--)
      if (a[before] !== "0") {
        start = 1n;
        break;
      }
  const [left, right] = [numberAt(a, at, start), numberAt(b, at, start)];
  if (left.value !== right.value) return left.value < right.value ? -1 : 1;
  return left.end - right.end;
}

function numberAt(text: readonly string[], from: number, start: bigint): { readonly value: bigint; readonly end: number } {
  let [value, end] = [start, from];
  for (; isDigit(text[end]); end++) value = BigInt.asIntN(64, value * 10n + BigInt((text[end] ?? "").charCodeAt(0) - "0".charCodeAt(0)));
  return { value, end };
}

function isLetter(character: string): boolean {
  return /\p{L}/u.test(character);
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}

function byCodePoint(a: string, b: string): number {
  return (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);
}

/** Formats a number as Go's library does: integers in full, others with an exponent below 1e-4 and from 1e6 on. */
export function goFloat(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString();
  const [, digits = "", sign = "", exponent = ""] = /^(.*)e([+-])(\d+)$/.exec(value.toExponential()) ?? [];
  const power = Number(`${sign}${exponent}`);
  if (power < -4 || power >= 6) return `${digits}e${sign}${exponent.padStart(2, "0")}`;
  return String(value);
}
