import type { FieldError } from "../../kinds/kind.ts";
import { invalidValue } from "../../kinds/validation/field-errors.ts";
import { type CheckedPod, podSecurityChecks, type Violation } from "./pod-security-checks.ts";

/** Source of this file: k8s.io/pod-security-admission v0.36.3 api/helpers.go and policy/registry.go. */

const levels = ["privileged", "baseline", "restricted"] as const;

export type PodSecurityLevel = (typeof levels)[number];

/** Level and version of the standards. */
export interface LevelVersion {
  readonly level: PodSecurityLevel;
  /** Minor version, or `latest`. */
  readonly minor: number | "latest";
}

/** What a namespace demands of its pods. */
export interface PodSecurityPolicy {
  readonly enforce: LevelVersion;
  readonly warn: LevelVersion;
}

/** Latest version in which a check has changed. */
const latestMinor = 35;
const prefix = "pod-security.kubernetes.io/";

/** Such as `restricted:latest`. */
export function levelText({ level, minor }: LevelVersion): string {
  return `${level}:${minor === "latest" ? minor : `v1.${minor}`}`;
}

/** Whether a namespace has labels of this admission at all. */
export function hasPodSecurity(labels: Readonly<Record<string, string>> | undefined): boolean {
  for (const key in labels) if (key.startsWith(prefix)) return true;
  return false;
}

/** Reads the labels of a namespace. Invalid ones are errors and count as the strictest level for enforcement. */
export function policyOf(labels: Readonly<Record<string, string>> = {}): {
  readonly policy: PodSecurityPolicy;
  readonly errors: FieldError[];
} {
  const errors: FieldError[] = [];
  const levelOf = (mode: string, fallback: PodSecurityLevel): PodSecurityLevel | undefined => {
    const text = labels[`${prefix}${mode}`];
    if (text === undefined) return undefined;
    const level = levels.find((one) => one === text);
    if (level === undefined) errors.push(invalidLabel(mode, text, `must be one of ${levels.join(", ")}`));
    return level ?? fallback;
  };
  const versionOf = (mode: string): number | "latest" | undefined => {
    const text = labels[`${prefix}${mode}-version`];
    if (text === undefined || text === "latest") return text;
    const [, minor] = /^v1\.(\d|[1-9]\d*)$/.exec(text) ?? [];
    if (minor !== undefined) return Number(minor);
    errors.push(invalidLabel(`${mode}-version`, text, 'must be "latest" or "v1.x"'));
    return "latest";
  };
  const enforceLevel = levelOf("enforce", "restricted");
  const enforce: LevelVersion = { level: enforceLevel ?? "privileged", minor: versionOf("enforce") ?? "latest" };
  levelOf("audit", "privileged");
  versionOf("audit");
  const isEnforceValid = enforceLevel !== undefined && labels[`${prefix}enforce`] === enforceLevel;
  const warnLevel = levelOf("warn", "privileged");
  const warnMinor = versionOf("warn");
  const warn: LevelVersion =
    warnLevel === undefined && isEnforceValid
      ? { level: enforce.level, minor: warnMinor ?? (enforce.level === "privileged" ? "latest" : enforce.minor) }
      : { level: warnLevel ?? "privileged", minor: warnMinor ?? "latest" };
  return { policy: { enforce, warn }, errors };
}

function invalidLabel(name: string, text: string, problem: string): FieldError {
  return invalidValue(`metadata.labels[${prefix}${name}]`, text, problem);
}

/** Less than, equal to or greater than zero, as `a` is less strict, as strict or stricter than `b`. */
export function compareLevels(a: PodSecurityLevel, b: PodSecurityLevel): number {
  return levels.indexOf(a) - levels.indexOf(b);
}

/** What a pod violates at a level. */
export function violationsOf(pod: CheckedPod, { level, minor: version }: LevelVersion): Violation[] {
  if (level === "privileged") return [];
  const minor = version === "latest" ? latestMinor : Math.min(version, latestMinor);
  return podSecurityChecks
    .filter((check) => (check.since ?? 0) <= minor && (level === "restricted" || check.level === "baseline"))
    .filter(({ overriddenSince }) => level !== "restricted" || overriddenSince === undefined || minor < overriddenSince)
    .flatMap(({ check }) => check(pod, minor) ?? []);
}

/** Such as `privileged (container "c" must not set securityContext.privileged=true)`. */
export function violationsText(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`)).join(", ");
}
