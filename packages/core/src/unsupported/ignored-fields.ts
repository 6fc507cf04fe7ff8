import { InvalidInputError, isUnsupported } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
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
 * The fields without which a pod may be run where a provider does not support them, if the operator names them. Without any other field
 * (an image, a volume, a variable, an init container, the restart policy) the pod would be another program. A security context is named
 * field by field, because each of them protects something else.
 */
export const ignorableFields: readonly string[] = [
  ...["containers", "initContainers"].flatMap((list) => containerFields.map((field) => `spec.${list}[*].${field}`)),
  ...containerSecurity.map((field) => `spec.ephemeralContainers[*].${field}`),
  ...["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", ...podSecurity].map((field) => `spec.${field}`),
];

/** A pod without the fields that are left out of it. */
export interface OmittedFields {
  readonly pod: DeepReadonly<Pod>;
  /** Paths of the fields that were left out, such as `spec.containers[0].livenessProbe`. */
  readonly paths: readonly string[];
}

/** The fields that an operator has named to be left out of pods where the provider does not support them. */
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
   * Leaves out of the pod what was named of the unsupported fields, or in them.
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
   * Leaves out what was named of the fields that ask for more than the limits. It looks again until there is nothing to leave out: without the host's network, the host ports that the API server wrote because of it ask for something.
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
   * Calls with a pod, and once more each time that the call ends with an UnsupportedError for a field that is to be left out: capabilities do
   * not tell all that a provider does not support.
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

/** What is wrong with a path that is to be ignored, as it follows the path; `undefined` if nothing is. */
export function ignoreProblem(path: string): string | undefined {
  if (ignorableFields.includes(path)) return undefined;
  if (ignorableFields.some((field) => field.startsWith(`${path}.`)))
    return `expected its fields one by one, such as ${ignorableFields.find((field) => field.startsWith(`${path}.`))}`;
  return "expected a field that a pod may be run without, such as spec.containers[*].livenessProbe";
}

type Key = string | number;

/** `spec.containers[*].lifecycle` as its keys; `*` stands for each entry of a list. */
function keysOf(path: string): readonly string[] {
  return path.replaceAll("[*]", ".*").split(".");
}

/** The places in an object that a pattern names, and where something is set. */
function placesOf(value: unknown, [key, ...rest]: readonly string[]): readonly (readonly Key[])[] {
  if (key === undefined) return value === undefined || value === null ? [] : [[]];
  const entries: readonly (readonly [Key, unknown])[] =
    key === "*" ? (Array.isArray(value) ? [...value.entries()] : []) : isObject(value) ? [[key, value[key]]] : [];
  return entries.flatMap(([name, entry]) => placesOf(entry, rest).map((place) => [name, ...place]));
}

/** A copy without what stands at the place. */
function without(value: unknown, [key, ...rest]: readonly Key[]): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown, index) => (index === key ? without(entry, rest) : entry));
  if (!isObject(value) || key === undefined) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, entry]) =>
      name !== key ? [[name, entry]] : rest.length === 0 ? [] : [[name, without(entry, rest)]],
    ),
  );
}

function pathOf(place: readonly Key[]): string {
  return place.map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? key : `.${key}`)).join("");
}

/** Whether one path leads to the other, or to something in it. */
function overlaps(a: string, b: string): boolean {
  return a === b || [".", "["].some((next) => a.startsWith(b + next) || b.startsWith(a + next));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
