import { declare, type FunctionPart } from "../signatures.ts";
import { EvaluationError, Opaque, type Value } from "../values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/cel/library/semverlib.go and github.com/blang/semver/v4. */

/** A semantic version. */
class Semver extends Opaque {
  readonly typeName = "kubernetes.Semver";
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  override equals(other: Value): boolean {
    return other instanceof Semver && compareVersions(this, other) === 0;
  }
}

const pattern = /^(\d+)\.(\d+)\.(\d+)(?:-([\dA-Za-z.-]+))?(?:\+([\dA-Za-z.-]+))?$/;

function parse(text: string): Semver {
  if (text === "") throw new EvaluationError("Version string empty");
  const found = pattern.exec(text);
  if (found === null) {
    if (text.split(".").length < 3) throw new EvaluationError("No Major.Minor.Patch elements found");
    throw new EvaluationError(`Invalid character(s) found in version ${JSON.stringify(text)}`);
  }
  const [, major = "", minor = "", patch = "", prerelease, build] = found;
  for (const [index, part] of [major, minor, patch].entries())
    if (part.length > 1 && part.startsWith("0"))
      throw new EvaluationError(`${["Major", "Minor", "Patch"][index]} number must not contain leading zeroes ${JSON.stringify(part)}`);
  const identifiers = prerelease?.split(".") ?? [];
  for (const part of identifiers) {
    if (part === "") throw new EvaluationError("prerelease is empty");
    if (/^0\d+$/.test(part))
      throw new EvaluationError(`Numeric PreRelease version must not contain leading zeroes ${JSON.stringify(part)}`);
  }
  if (build?.split(".").includes("") === true) throw new EvaluationError("Build meta data is empty");
  return new Semver([BigInt(major), BigInt(minor), BigInt(patch)], identifiers);
}

/** Permits a leading `v`, missing minor and patch numbers and leading zeros. */
function normalize(text: string): string {
  const [, numbers = "", rest = ""] = /^v?([\d.]*)(.*)$/s.exec(text) ?? [];
  const parts = numbers.split(".").map((part) => (part === "" ? part : part.replace(/^0+(?=\d)/, "")));
  if (parts.length < 3 && rest !== "") return numbers + rest;
  while (parts.length < 3) parts.push("0");
  return parts.join(".") + rest;
}

function compareVersions(a: Semver, b: Semver): number {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return Math.sign(b.prerelease.length - a.prerelease.length);
  for (const [index, part] of a.prerelease.entries()) {
    const other = b.prerelease[index];
    if (other === undefined) return 1;
    const order = compareIdentifiers(part, other);
    if (order !== 0) return order;
  }
  return Math.sign(a.prerelease.length - b.prerelease.length);
}

function compareIdentifiers(a: string, b: string): number {
  const [aNumber, bNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (aNumber !== bNumber) return aNumber ? -1 : 1;
  if (aNumber) return Number(BigInt(a) > BigInt(b)) - Number(BigInt(a) < BigInt(b));
  return a < b ? -1 : Number(a > b);
}

const versionOf = (text: Value, normalizes: Value = false): Semver => parse(normalizes === true ? normalize(String(text)) : String(text));
const compare = (a: Value | undefined, b: Value | undefined): number => compareVersions(a as Semver, b as Semver);
const part =
  (index: 0 | 1 | 2): ((value: Value) => bigint) =>
  (value) =>
    (value as Semver).numbers[index];

function isSemver(text: Value, normalizes?: Value): boolean {
  try {
    versionOf(text, normalizes);
    return true;
  } catch {
    return false;
  }
}

export const semverFunctions: readonly FunctionPart[] = [
  declare("semver", ["string_to_semver (string) -> Semver", "string_bool_to_semver (string, bool) -> Semver"], versionOf),
  declare("isSemver", ["is_semver_string (string) -> bool", "is_semver_string_bool (string, bool) -> bool"], isSemver),
  declare("isGreaterThan", ["semver_is_greater_than Semver.(Semver) -> bool"], (a, b) => compare(a, b) > 0),
  declare("isLessThan", ["semver_is_less_than Semver.(Semver) -> bool"], (a, b) => compare(a, b) < 0),
  declare("compareTo", ["semver_compare_to Semver.(Semver) -> int"], (a, b) => BigInt(compare(a, b))),
  declare("major", ["semver_major Semver.() -> int"], part(0)),
  declare("minor", ["semver_minor Semver.() -> int"], part(1)),
  declare("patch", ["semver_patch Semver.() -> int"], part(2)),
];
