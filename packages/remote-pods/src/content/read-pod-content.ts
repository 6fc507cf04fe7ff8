import type { DeepReadonly, Pod, ResolvedEnvVar, ResolvedPod, VolumeFile } from "@virtual-kubelet/core";
import { containerFields, isSensitive, variablePath, volumeFields, type ContainerField, type VolumeField } from "./content-fields.ts";
import type { ContentLimits } from "./content-limits.ts";
import { refuseFields, type RefusedField } from "./refuse-fields.ts";

/** Mode of files whose pod asks for none. */
const defaultMode = 0o644;

/** A resolved variable. */
export interface ContentVariable extends ResolvedEnvVar {
  /** Whether the value may hold a secret. The back end's type for secrets is then used, if it has one. */
  readonly isSensitive: boolean;
}

/** Environment and command line of a container, resolved. */
export interface ContainerContent {
  readonly name: string;
  readonly environment: readonly ContentVariable[];
  /** Empty: that of the image. */
  readonly command: readonly string[];
  readonly args: readonly string[];
}

/** Files of a volume. */
export interface VolumeContent {
  readonly name: string;
  readonly files: readonly VolumeFile[];
  /** Whether the files may hold secrets. */
  readonly isSensitive: boolean;
}

/** All that a pod brings with it. It may hold secrets: it is never logged. */
export interface PodContent {
  /** By name, init containers first. */
  readonly containers: ReadonlyMap<string, ContainerContent>;
  /** Volumes of type configMap, secret, downwardAPI and projected, by name. */
  readonly volumes: ReadonlyMap<string, VolumeContent>;
  /** Paths of the volume sources some of whose files do not keep their modes, for an event. Empty unless modes are `notKept`. */
  readonly lostModes: readonly string[];
}

/**
 * Reads the environment, command lines and files of a pod, each once, and checks them against a back end's limits.
 *
 * A pod that exceeds a limit is refused with an UnsupportedError, so that it stays Pending as `ProviderUnsupported` and runs when its spec changes:
 * the message names the field, the size, the limit and what to do about the first, and the fields of the others. It never holds content.
 *
 * @throws UnsupportedError; what `resolved` throws, such as InvalidInputError for a missing secret; `signal.reason` when aborted
 */
export async function readPodContent(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  limits: ContentLimits,
  signal: AbortSignal,
): Promise<PodContent> {
  const volumeCount = pod.spec?.volumes?.length ?? 0;
  refuseFields(tooMuch("spec.volumes", "volumes", volumeCount, limits.maxVolumes, { limits, unit: "volumes", remedy: "remove some" }));
  const containers = new Map<string, ContainerContent>();
  const volumes = new Map<string, VolumeContent>();
  const refusals: RefusedField[] = [];
  let [environmentBytes, filesBytes] = [0, 0];
  for (const field of containerFields(pod)) {
    const content = await readContainer(field, resolved, signal);
    containers.set(content.name, content);
    environmentBytes += bytesOfAll(content.environment);
    refusals.push(...checkContainer(field, content, limits));
  }
  const lostModes: string[] = [];
  for (const field of volumeFields(pod)) {
    const { files } = await resolved.volume(field.name, signal);
    signal.throwIfAborted();
    volumes.set(field.name, { name: field.name, files, isSensitive: field.isSensitive });
    filesBytes += files.reduce((sum, { content }) => sum + content.byteLength, 0);
    refusals.push(...checkFiles(field, files, limits));
    if (limits.fileModes === "notKept" && files.some(({ mode }) => mode !== defaultMode)) lostModes.push(field.path);
  }
  const total = { limits, unit: "bytes", remedy: "move some of it into the image, or into a volume that the back end mounts itself" };
  refuseFields([
    ...refusals,
    ...tooMuch("spec.containers", "all variables of the pod together", environmentBytes, limits.maxPodEnvironmentBytes, total),
    ...tooMuch("spec.volumes", "all files of the pod together", filesBytes, limits.maxFilesBytes, total),
  ]);
  return { containers, volumes, lostModes };
}

async function readContainer(field: ContainerField, resolved: ResolvedPod, signal: AbortSignal): Promise<ContainerContent> {
  const { name } = field.container;
  const variables = await resolved.environment(name, signal);
  const { command, args } = await resolved.commandLine(name, signal);
  signal.throwIfAborted();
  return { name, command, args, environment: variables.map((each) => ({ ...each, isSensitive: isSensitive(field, each.name) })) };
}

function checkContainer(field: ContainerField, { environment, command, args }: ContainerContent, limits: ContentLimits): RefusedField[] {
  const remedy = "shorten it, or put it into a file of a volume";
  const commandBytes = [...command, ...args].reduce((sum, word) => sum + Buffer.byteLength(word), 0);
  const commandField = (field.container.command ?? []).length > 0 ? "command" : "args";
  return [
    ...environment.flatMap((each) =>
      tooMuch(variablePath(field, each.name), `variable ${each.name}`, bytesOf(each), limits.maxVariableBytes, {
        limits,
        unit: "bytes",
        remedy,
      }),
    ),
    ...tooMuch(`${field.path}.env`, "all variables of the container together", bytesOfAll(environment), limits.maxEnvironmentBytes, {
      limits,
      unit: "bytes",
      remedy: "put some into a file of a volume, or set enableServiceLinks to false if they are addresses of services",
    }),
    ...tooMuch(`${field.path}.${commandField}`, "command and arguments together", commandBytes, limits.maxCommandBytes, {
      limits,
      unit: "bytes",
      remedy: "put a script into a file of a volume",
    }),
  ];
}

function checkFiles({ path }: VolumeField, files: readonly VolumeFile[], limits: ContentLimits): RefusedField[] {
  const remedy = "split it, or move it into the image";
  const { fileModes } = limits;
  return files.flatMap((file) => [
    ...tooMuch(path, `file ${file.path}`, file.content.byteLength, limits.maxFileBytes, { limits, unit: "bytes", remedy }),
    ...(typeof fileModes === "object" && !fileModes.includes(file.mode)
      ? [
          {
            fieldPath: path,
            message: `file ${file.path} has mode ${octal(file.mode)}, and ${limits.backEnd} knows only ${fileModes.map(octal).join(", ")}; set defaultMode or mode`,
          },
        ]
      : []),
  ]);
}

function tooMuch(
  fieldPath: string,
  what: string,
  size: number,
  limit: number | undefined,
  { limits, unit, remedy }: { readonly limits: ContentLimits; readonly unit: string; readonly remedy: string },
): RefusedField[] {
  if (limit === undefined || size <= limit) return [];
  const counted = what === unit ? `${size} ${unit}` : `${what}: ${size} ${unit}`;
  return [{ fieldPath, message: `${counted}, and ${limits.backEnd} takes at most ${limit}; ${remedy}` }];
}

function bytesOf({ name, value }: ResolvedEnvVar): number {
  return Buffer.byteLength(name) + Buffer.byteLength(value);
}

function bytesOfAll(variables: readonly ResolvedEnvVar[]): number {
  return variables.reduce((sum, each) => sum + bytesOf(each), 0);
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
