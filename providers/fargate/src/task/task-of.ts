import type { Container, DeepReadonly, Pod, ResolvedPod } from "@virtual-kubelet/core";
import { InvalidInputError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import { refuseFields, type PodIdentity } from "@virtual-kubelet/remote-pods";
import type {
  ContainerDefinition,
  ContainerDependency,
  ContainerOverride,
  RegisterTaskDefinitionCommandInput,
  RunTaskCommandInput,
} from "@aws-sdk/client-ecs";
import type { FargateConfig } from "../config/schema.ts";
import { containerOf, logConfigurationOf, maxStopSeconds, type ContainerRole } from "./container-of.ts";
import { askedSize, ephemeralStorageOf } from "./container-resources.ts";
import { refusedSecurity } from "./container-security.ts";
import { familyOf } from "./definition-family.ts";
import { environmentOf, type ContainerEnvironment } from "./environment-of.ts";
import { filesContainerName, filesContainerOf } from "./files-container.ts";
import { healthOf, refusedProbes } from "./health-check.ts";
import { pauseContainerName, pauseContainerOf } from "./pause-container.ts";
import { filesOf } from "./pod-files.ts";
import { ownerTagsOf } from "./pod-identity.ts";
import { toPodSettings, type PodSettings } from "./pod-settings.ts";
import { refuse } from "./refused-fields.ts";
import { runOf } from "./run-of.ts";
import { taskSizeFor, type TaskSize } from "./size-grid.ts";
import { ecsVolumesOf, volumesOf, type PodVolume } from "./volumes-of.ts";

/** Something that the pod's owner should know about the translation. */
interface TaskNote {
  readonly reason: "TaskSizeRounded" | "HealthCheckAdjusted" | "GracePeriodShortened" | "PullSecretsUnused" | "HostnameUnused";
  readonly message: string;
}

/** A pod as ECS takes it. It may hold secrets, and is never logged. */
export interface TaskRequest {
  readonly definition: RegisterTaskDefinitionCommandInput;
  /** The task definition's ARN is added when it is known. */
  readonly run: Omit<RunTaskCommandInput, "taskDefinition">;
  readonly notes: readonly TaskNote[];
}

/** Maximum of containers in a task. Source: Amazon ECS service quotas. */
const maxContainers = 10;
/** Maximum size of a task definition in bytes. Source: Amazon ECS service quotas. */
const maxDefinitionBytes = 64 * 1024;

/** A container of the pod with its place. */
interface PlacedContainer {
  readonly container: DeepReadonly<Container>;
  readonly path: string;
  readonly role: ContainerRole;
}

/**
 * Translates a pod.
 *
 * @throws UnsupportedError and InvalidInputError with the field; what `resolved` throws
 */
export async function taskOf(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { config, identity }: { readonly config: FargateConfig; readonly identity: PodIdentity },
  signal: AbortSignal,
): Promise<TaskRequest> {
  const settings = toPodSettings(pod, config);
  const placed = placedOf(pod);
  refuse(pod);
  refuseFields([
    ...refusedSecurity(pod),
    ...placed.flatMap(({ container, path, role }) => (role === "init" ? [] : refusedProbes(container, path, config.reachablePods))),
  ]);
  const rules = { plaintextSecrets: config.plaintextSecrets, secretArns: settings.secretArns };
  const volumes = await volumesOf(pod, resolved, config, signal);
  const mounted = mountedOf(placed, volumes);
  const files = filesContainerOf(
    {
      files: await filesOf(pod, mounted, resolved, rules, signal),
      emptyDirs: [...volumes].flatMap(([name, { kind }]) => (kind === "emptyDir" && mounted.has(name) ? [name] : [])),
      fsGroup: pod.spec?.securityContext?.fsGroup,
    },
    config.filesImage,
  );
  const environments = new Map<string, ContainerEnvironment>();
  for (const each of placed) environments.set(each.container.name, await environmentOf(each, resolved, rules, signal));
  const logConfiguration = logConfigurationOf(config);
  const containers = [
    ...(files ? [{ ...files.definition, ...(logConfiguration && { logConfiguration }) }] : []),
    ...translateAll(placed, { pod, volumes, environments, settings, config, hasFiles: files !== undefined }),
    ...(needsPause(pod) ? [pauseContainerOf(config.pauseImage)] : []),
  ];
  if (containers.length > maxContainers)
    throw new UnsupportedError(
      `spec.containers: the pod needs ${containers.length} containers, including those that write files and keep the task alive; ` +
        `a task has at most ${maxContainers}`,
      { fieldPath: "spec.containers" },
    );
  const asked = askedSize(pod);
  const size = taskSizeFor(asked, settings.platformVersion);
  const storage = ephemeralStorageOf(pod);
  const { owner } = identity;
  const body: Omit<RegisterTaskDefinitionCommandInput, "family"> = {
    networkMode: "awsvpc",
    requiresCompatibilities: ["FARGATE"],
    cpu: String(size.cpuUnits),
    memory: String(size.memoryMib),
    runtimePlatform: { operatingSystemFamily: "LINUX", cpuArchitecture: config.architecture === "arm64" ? "ARM64" : "X86_64" },
    ...(settings.taskRoleArn !== undefined && { taskRoleArn: settings.taskRoleArn }),
    ...(settings.executionRoleArn !== undefined && { executionRoleArn: settings.executionRoleArn }),
    ...(storage !== undefined && { ephemeralStorage: { sizeInGiB: storage } }),
    containerDefinitions: containers,
    volumes: ecsVolumesOf(volumes, mounted),
    tags: ownerTagsOf(owner),
  };
  checkSecrets(containers, settings);
  const bytes = Buffer.byteLength(JSON.stringify(body));
  const largest = files && Buffer.byteLength(JSON.stringify(files.definition)) * 2 > bytes ? "spec.volumes" : "spec.containers";
  if (bytes > maxDefinitionBytes)
    throw new UnsupportedError(
      `${largest}: the task definition has ${Math.ceil(bytes / 1024)} KiB with all files and variables, and ECS takes ${maxDefinitionBytes / 1024} KiB; ` +
        `move some of it into the image, or to Amazon EFS`,
      { fieldPath: largest },
    );
  const overrides = [
    ...(files && files.own.length > 0 ? [{ name: filesContainerName, environment: files.own }] : []),
    ...[...environments].flatMap(([name, environment]) => overrideOf(name, environment)),
  ];
  return {
    definition: { family: familyOf(body, owner), ...body },
    run: runOf({ identity, settings, cluster: config.cluster, overrides }),
    notes: notesOf(pod, { asked, size, placed, settings }),
  };
}

/** Whether ECS needs a container that outlives the others: it ends a task with its first essential container, and a pod lives until its last ends. */
function needsPause({ spec }: DeepReadonly<Pod>): boolean {
  return (spec?.containers.length ?? 0) > 1;
}

function placedOf({ spec }: DeepReadonly<Pod>): readonly PlacedContainer[] {
  const placed: PlacedContainer[] = [
    ...(spec?.initContainers ?? []).map((container, index): PlacedContainer => ({
      container,
      path: `spec.initContainers[${index}]`,
      role: isSidecar(container) ? "sidecar" : "init",
    })),
    ...(spec?.containers ?? []).map((container, index): PlacedContainer => ({
      container,
      path: `spec.containers[${index}]`,
      role: "regular",
    })),
  ];
  for (const { container, path } of placed)
    if (container.name === filesContainerName || container.name === pauseContainerName)
      throw new UnsupportedError(`${path}.name: ${container.name} is the name of a container that this provider adds`, {
        fieldPath: `${path}.name`,
      });
  return placed;
}

function mountedOf(placed: readonly PlacedContainer[], volumes: ReadonlyMap<string, PodVolume>): ReadonlySet<string> {
  const names = placed.flatMap(({ container }) => (container.volumeMounts ?? []).map(({ name }) => name));
  return new Set(names.filter((name) => (volumes.get(name)?.kind ?? "none") !== "none"));
}

interface TranslationContext {
  readonly pod: DeepReadonly<Pod>;
  readonly volumes: ReadonlyMap<string, PodVolume>;
  readonly environments: ReadonlyMap<string, ContainerEnvironment>;
  readonly settings: PodSettings;
  readonly config: FargateConfig;
  readonly hasFiles: boolean;
}

const noEnvironment: ContainerEnvironment = { shared: [], own: [], secrets: [], entryPoint: [], command: [], isCommandOwn: false };

/** Translates the containers in the order of their start: each waits for the init container before it, and for all sidecars before it. */
function translateAll(placed: readonly PlacedContainer[], context: TranslationContext): ContainerDefinition[] {
  const { pod, volumes, environments, settings, config } = context;
  const isAlone = !needsPause(pod);
  let ended: ContainerDependency[] = context.hasFiles ? [{ containerName: filesContainerName, condition: "SUCCESS" }] : [];
  const sidecars: ContainerDependency[] = [];
  return placed.map(({ container, path, role }) => {
    const definition = containerOf(container, {
      pod,
      path,
      role,
      isEssential: role === "regular" && isAlone,
      dependsOn: [...ended, ...sidecars],
      environment: environments.get(container.name) ?? noEnvironment,
      volumes,
      logConfiguration: logConfigurationOf(config),
      repositoryCredentials: settings.repositoryCredentials,
    });
    if (role === "init") ended = [{ containerName: container.name, condition: "SUCCESS" }];
    if (role === "sidecar") sidecars.push({ containerName: container.name, condition: container.startupProbe?.exec ? "HEALTHY" : "START" });
    return definition;
  });
}

function overrideOf(name: string, { own, command, isCommandOwn }: ContainerEnvironment): ContainerOverride[] {
  if (own.length === 0 && !isCommandOwn) return [];
  return [{ name, ...(own.length > 0 && { environment: own }), ...(isCommandOwn && { command }) }];
}

/** ECS reads secrets and registry credentials with the execution role. */
function checkSecrets(containers: readonly ContainerDefinition[], { executionRoleArn }: PodSettings): void {
  const needs = containers.find(({ secrets, repositoryCredentials }) => (secrets?.length ?? 0) > 0 || repositoryCredentials);
  if (needs && executionRoleArn === undefined)
    throw new InvalidInputError(
      `container ${needs.name}: ECS reads secrets and registry credentials with an execution role, and the pod has none; set executionRoleArn`,
    );
}

function notesOf(
  { spec }: DeepReadonly<Pod>,
  {
    asked,
    size,
    placed,
    settings,
  }: { readonly asked: TaskSize; readonly size: TaskSize; readonly placed: readonly PlacedContainer[]; readonly settings: PodSettings },
): readonly TaskNote[] {
  const notes: TaskNote[] = [];
  if (asked.cpuUnits !== size.cpuUnits || asked.memoryMib !== size.memoryMib)
    notes.push({
      reason: "TaskSizeRounded",
      message:
        `AWS bills a task of ${size.cpuUnits / 1024} vCPU and ${size.memoryMib} MiB; ` +
        `the containers ask for ${Math.round((asked.cpuUnits * 100) / 1024) / 100} vCPU and ${asked.memoryMib} MiB`,
    });
  for (const { container, role } of placed) {
    const { adjusted } = role === "init" ? { adjusted: [] } : healthOf(container);
    if (adjusted.length > 0)
      notes.push({ reason: "HealthCheckAdjusted", message: `container ${container.name}: ECS takes other values: ${adjusted.join(", ")}` });
  }
  const grace = spec?.terminationGracePeriodSeconds ?? 30;
  if (grace > maxStopSeconds)
    notes.push({ reason: "GracePeriodShortened", message: `Fargate stops containers after ${maxStopSeconds} s, not after ${grace} s` });
  if ((spec?.imagePullSecrets?.length ?? 0) > 0 && settings.repositoryCredentials === undefined)
    notes.push({
      reason: "PullSecretsUnused",
      message: "ECS does not read imagePullSecrets; name a secret of Secrets Manager with the setting repositoryCredentials",
    });
  if (spec?.hostname ?? spec?.subdomain) notes.push({ reason: "HostnameUnused", message: "ECS sets the host name of a task itself" });
  return notes;
}
