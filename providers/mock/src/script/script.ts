import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import type { MockStage, MockStageMatch } from "../config.ts";
import { scriptFields, scriptKeys, type MockScriptSettings } from "./script-fields.ts";

/** Domain of the annotations that script a pod. A prefix `NAME.` scripts one container. */
export const annotationDomain = "mock.virtual-kubelet.io";

/** Script of one container. */
export interface ContainerScript {
  readonly startDelayMs: number;
  readonly readyAfterMs: number;
  readonly flipReadyEveryMs: number | undefined;
  /** `undefined`: runs until the pod is deleted. */
  readonly exitAfterMs: number | undefined;
  readonly exitCode: number;
  readonly fail: "image-pull-error" | "create-error" | undefined;
  readonly stopDelayMs: number;
  /** `undefined`: one line that describes the container. */
  readonly log: readonly string[] | undefined;
  readonly logEveryMs: number | undefined;
  /** `undefined`: derived from the container's name and the pod's UID. */
  readonly cpuNanoCores: number | undefined;
  readonly memoryBytes: number | undefined;
}

/** Script of a pod. */
export interface PodScript {
  /** How the provider's own call fails. */
  readonly fail: "provider-error" | "terminal-error" | undefined;
  /** Script of every app container that has none of its own. */
  readonly container: ContainerScript;
  /** Scripts of single containers. Those of init containers, sidecars and ephemeral containers are only here. */
  readonly containers: ReadonlyMap<string, ContainerScript>;
}

/** Starts and becomes ready immediately, runs until it is deleted, and then ends immediately. */
export const plainContainer: ContainerScript = {
  startDelayMs: 0,
  readyAfterMs: 0,
  flipReadyEveryMs: undefined,
  exitAfterMs: undefined,
  exitCode: 0,
  fail: undefined,
  stopDelayMs: 0,
  log: undefined,
  logEveryMs: undefined,
  cpuNanoCores: undefined,
  memoryBytes: undefined,
};

/** Default of init containers: runs and succeeds immediately. */
export const plainInitContainer: ContainerScript = { ...plainContainer, exitAfterMs: 0 };

/** Default in the pod of a Job: completes after a second, because a Job waits for it. */
const plainJobContainer: ContainerScript = { ...plainContainer, exitAfterMs: 1_000 };

const jobScript: PodScript = { fail: undefined, container: plainJobContainer, containers: new Map() };
const noScript: PodScript = { fail: undefined, container: plainContainer, containers: new Map() };
const keyByAnnotation: ReadonlyMap<string, keyof MockScriptSettings> = new Map(
  scriptKeys.map((key) => [scriptFields[key].annotation, key]),
);

/**
 * Script of a pod: the first stage that matches it, overridden by the pod's annotations.
 *
 * @throws InvalidInputError that names the annotation, its value, and what was expected
 */
export function scriptOf(pod: DeepReadonly<Pod>, stages: readonly MockStage[]): PodScript {
  const stage = stages.length > 0 ? stages.find(({ match }) => matches(match, pod)) : undefined;
  const annotations = scriptAnnotations(pod);
  const isOfJob = completes(pod);
  if (!stage && annotations.length === 0) return isOfJob ? jobScript : noScript;

  const plainApp = isOfJob ? plainJobContainer : plainContainer;
  const roles = containerRoles(pod);
  const own = readAnnotations(annotations, [...roles.keys()]);
  const podSettings = { ...stage?.script, ...own.get(undefined) };
  const containers = new Map<string, ContainerScript>();
  for (const [name, role] of roles) {
    const settings = { ...stage?.containers[name], ...own.get(name) };
    if (Object.keys(settings).length === 0) continue;
    const inherited = role === "app" ? podSettings : {};
    const defaults = role === "init" ? plainInitContainer : role === "app" ? plainApp : plainContainer;
    containers.set(name, toContainerScript({ ...inherited, ...settings }, defaults));
  }
  return { fail: ownFailure(podSettings), container: toContainerScript(podSettings, plainApp), containers };
}

/** Whether the pod is a Job's. The Job's controller allows only the restart policies `Never` and `OnFailure`. */
function completes({ metadata, spec }: DeepReadonly<Pod>): boolean {
  const isJob = ({ apiVersion, kind, controller }: { apiVersion: string; kind: string; controller?: boolean | undefined }): boolean =>
    kind === "Job" && apiVersion.startsWith("batch/") && (controller ?? false);
  return spec?.restartPolicy !== "Always" && (metadata?.ownerReferences?.some(isJob) ?? false);
}

function matches({ namespace, name, labels }: MockStageMatch, { metadata }: DeepReadonly<Pod>): boolean {
  if (namespace !== undefined && namespace !== metadata?.namespace) return false;
  if (name !== undefined && name !== metadata?.name) return false;
  return Object.entries(labels ?? {}).every(([label, value]) => metadata?.labels?.[label] === value);
}

/**
 * `[annotation, container, field, value]` of each annotation of {@link annotationDomain}; the container is `undefined` for the whole pod.
 */
function scriptAnnotations(pod: DeepReadonly<Pod>): [annotation: string, container: string | undefined, field: string, value: string][] {
  const found: [string, string | undefined, string, string][] = [];
  const annotations = pod.metadata?.annotations;
  for (const annotation in annotations) {
    if (!annotation.includes(annotationDomain)) continue;
    const slash = annotation.indexOf("/");
    const domain = annotation.slice(0, slash);
    if (!domain.endsWith(annotationDomain)) continue;
    const container = domain.slice(0, -annotationDomain.length);
    if (container !== "" && !container.endsWith(".")) continue;
    found.push([
      annotation,
      container === "" ? undefined : container.slice(0, -1),
      annotation.slice(slash + 1),
      annotations[annotation] ?? "",
    ]);
  }
  return found;
}

/** Kind of a container in its pod. A sidecar is an init container that keeps running. */
export type ContainerRole = "init" | "sidecar" | "app" | "ephemeral";

/** Roles of the pod's containers by name, in the order they start. */
function containerRoles({ spec }: DeepReadonly<Pod>): Map<string, ContainerRole> {
  const roles = new Map<string, ContainerRole>();
  for (const container of spec?.initContainers ?? []) roles.set(container.name, isSidecar(container) ? "sidecar" : "init");
  for (const { name } of spec?.containers ?? []) roles.set(name, "app");
  for (const { name } of spec?.ephemeralContainers ?? []) roles.set(name, "ephemeral");
  return roles;
}

function readAnnotations(
  annotations: ReturnType<typeof scriptAnnotations>,
  names: readonly string[],
): Map<string | undefined, MockScriptSettings> {
  const settings = new Map<string | undefined, MockScriptSettings>();
  for (const [annotation, container, name, text] of annotations) {
    if (container !== undefined && !names.includes(container)) {
      throw new InvalidInputError(
        `annotation ${annotation}: the pod has no container ${JSON.stringify(container)}, it has ${names.join(", ")}`,
      );
    }
    const key = keyByAnnotation.get(name);
    if (!key)
      throw new InvalidInputError(
        `annotation ${annotation}: unknown, expected one of ${[...keyByAnnotation.keys()].join(", ")} after the slash`,
      );
    const { expected, parse } = scriptFields[key];
    const value = parse(text);
    if (value === undefined) throw new InvalidInputError(`annotation ${annotation}: ${JSON.stringify(text)}: expected ${expected}`);
    if (container !== undefined && isOwnFailure(value)) {
      throw new InvalidInputError(
        `annotation ${annotation}: ${JSON.stringify(text)}: allowed for a whole pod only, expected image-pull-error or create-error`,
      );
    }
    settings.set(container, { ...settings.get(container), [key]: value });
  }
  return settings;
}

function toContainerScript(settings: MockScriptSettings, defaults: ContainerScript): ContainerScript {
  const { crashLoop, fail } = settings;
  const exitAfterMs = settings.exitAfterMs ?? (crashLoop ? 1_000 : defaults.exitAfterMs);
  return {
    startDelayMs: settings.startDelayMs ?? defaults.startDelayMs,
    readyAfterMs: settings.readyAfterMs ?? defaults.readyAfterMs,
    flipReadyEveryMs: settings.flipReadyEveryMs,
    exitAfterMs: exitAfterMs === Infinity ? undefined : exitAfterMs,
    exitCode: settings.exitCode ?? (crashLoop ? 1 : 0),
    fail: fail === "image-pull-error" || fail === "create-error" ? fail : undefined,
    stopDelayMs: settings.stopDelayMs ?? defaults.stopDelayMs,
    log: settings.log,
    logEveryMs: settings.logEveryMs,
    cpuNanoCores: settings.cpuNanoCores,
    memoryBytes: settings.memoryBytes,
  };
}

function ownFailure({ fail }: MockScriptSettings): PodScript["fail"] {
  return isOwnFailure(fail) ? fail : undefined;
}

function isOwnFailure(value: unknown): value is "provider-error" | "terminal-error" {
  return value === "provider-error" || value === "terminal-error";
}
