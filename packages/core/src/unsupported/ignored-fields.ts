import { InvalidInputError, isUnsupported } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { pathsOverLimits, type ProviderLimits } from "./provider-limits.ts";

const containerSecurity = [
  "allowPrivilegeEscalation",
  "appArmorProfile",
  "capabilities",
  "privileged",
  "procMount",
  "readOnlyRootFilesystem",
  "runAsGroup",
  "runAsNonRoot",
  "runAsUser",
  "seLinuxOptions",
  "seccompProfile",
  "windowsOptions",
].map((field) => `securityContext.${field}`);

const podSecurity = [
  "appArmorProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "runAsGroup",
  "runAsNonRoot",
  "runAsUser",
  "seLinuxChangePolicy",
  "seLinuxOptions",
  "seccompProfile",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "sysctls",
  "windowsOptions",
].map((field) => `securityContext.${field}`);

const containerFields = ["startupProbe", "readinessProbe", "livenessProbe", "lifecycle", "ports[*].hostPort", ...containerSecurity];

/**
 * The fields that an operator may name to be omitted if the provider does not support them. Without any other field
 * (an image, a volume, a variable, an init container, the restart policy) the pod would be a different program. A security context is named
 * field by field, because each field protects something else.
 */
export const ignorableFields: readonly string[] = [
  ...["containers", "initContainers"].flatMap((list) => containerFields.map((field) => `spec.${list}[*].${field}`)),
  ...containerSecurity.map((field) => `spec.ephemeralContainers[*].${field}`),
  ...["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", ...podSecurity].map((field) => `spec.${field}`),
];

/** A pod without its omitted fields. */
export interface OmittedFields {
  readonly pod: DeepReadonly<Pod>;
  /** Paths of the omitted fields, such as `spec.containers[0].livenessProbe`. */
  readonly paths: readonly string[];
}

/** The fields that an operator has named to be omitted if the provider does not support them. */
export class IgnoredFields {
  readonly #patterns: readonly (readonly string[])[];

  /** @throws InvalidInputError for a path that is not one of {@link ignorableFields} */
  constructor(paths: readonly string[] = []) {
    for (const path of paths) {
      const problem = ignoreProblem(path);
      if (problem !== undefined) throw new InvalidInputError(`onUnsupported.ignore: ${JSON.stringify(path)}: ${problem}`);
    }
    this.#patterns = paths.map(keysOf);
  }

  /**
   * Omits the named ones among the unsupported fields, and named fields inside of them.
   *
   * @param unsupported - paths of the fields that the provider does not support
   */
  omit(pod: DeepReadonly<Pod>, unsupported: readonly string[]): OmittedFields {
    if (this.#patterns.length === 0 || unsupported.length === 0) return { pod, paths: [] };
    const places = this.#patterns
      .flatMap((pattern) => placesOf(pod, pattern))
      .filter((place) => unsupported.some((path) => overlaps(pathOf(place), path)));
    // The kind of the object does not change: each of these fields is optional.
    const rest = places.reduce<unknown>(without, pod) as DeepReadonly<Pod>;
    return { pod: rest, paths: places.map(pathOf) };
  }

  /**
   * Omits the named fields that exceed the limits. Repeats, because without `hostNetwork` the host ports that it implied count.
   */
  omitAll(first: OmittedFields, limits: ProviderLimits): OmittedFields {
    if (this.#patterns.length === 0) return first;
    for (let given = first; ;) {
      const { pod, paths } = this.omit(given.pod, pathsOverLimits(given.pod, limits));
      if (paths.length === 0) return given;
      given = { pod, paths: [...given.paths, ...paths] };
    }
  }

  /**
   * Calls with a pod, and again after each UnsupportedError for a field that may be omitted, because capabilities do
   * not describe everything that a provider does not support.
   */
  async tell<T>(first: OmittedFields, call: (given: OmittedFields) => Promise<T>): Promise<T> {
    for (let given = first; ;) {
      try {
        return await call(given);
      } catch (error) {
        const fieldPath = fieldPathOf(error);
        const { pod, paths } = this.omit(given.pod, fieldPath === undefined ? [] : [fieldPath]);
        if (paths.length === 0) throw error;
        given = { pod, paths: [...given.paths, ...paths] };
      }
    }
  }
}

function fieldPathOf(error: unknown): string | undefined {
  if (!isUnsupported(error) || typeof error !== "object" || error === null) return undefined;
  const { fieldPath } = error as { readonly fieldPath?: unknown };
  return typeof fieldPath === "string" ? fieldPath : undefined;
}

/** Returns the problem of a path to ignore, as text that follows the path; `undefined` if there is none. */
export function ignoreProblem(path: string): string | undefined {
  if (ignorableFields.includes(path)) return undefined;
  if (ignorableFields.some((field) => field.startsWith(`${path}.`)))
    return `expected its fields one by one, such as ${ignorableFields.find((field) => field.startsWith(`${path}.`))}`;
  return "expected a field that a pod may be run without, such as spec.containers[*].livenessProbe";
}

type Key = string | number;

/** Splits `spec.containers[*].lifecycle` into keys; `*` matches each entry of a list. */
function keysOf(path: string): readonly string[] {
  return path.replaceAll("[*]", ".*").split(".");
}

/** Returns the places in an object that match a pattern and are set. */
function placesOf(value: unknown, [key, ...rest]: readonly string[]): readonly (readonly Key[])[] {
  if (key === undefined) return value === undefined || value === null ? [] : [[]];
  const entries: readonly (readonly [Key, unknown])[] =
    key === "*" ? (Array.isArray(value) ? [...value.entries()] : []) : isJsonObject(value) ? [[key, value[key]]] : [];
  return entries.flatMap(([name, entry]) => placesOf(entry, rest).map((place) => [name, ...place]));
}

/** Returns a copy without the value at the place. */
function without(value: unknown, [key, ...rest]: readonly Key[]): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown, index) => (index === key ? without(entry, rest) : entry));
  if (!isJsonObject(value) || key === undefined) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, entry]) =>
      name !== key ? [[name, entry]] : rest.length === 0 ? [] : [[name, without(entry, rest)]],
    ),
  );
}

function pathOf(place: readonly Key[]): string {
  return place.map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? key : `.${key}`)).join("");
}

/** Whether one path equals the other, or leads inside of it. */
function overlaps(a: string, b: string): boolean {
  return a === b || [".", "["].some((next) => a.startsWith(b + next) || b.startsWith(a + next));
}
