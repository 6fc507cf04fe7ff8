import { labelNames, tryAttempt } from "@virtual-kubelet/pod-runtime";
import { join } from "node:path";

/** Paths at which log shippers look for the log of one start of a container. */
export interface LogLinkPaths {
  /** `pods/NAMESPACE_POD_UID` in the log folder. */
  readonly podFolder: string;
  /** `CONTAINER` in {@link podFolder}. */
  readonly containerFolder: string;
  /** `N.log` in {@link containerFolder}, where N is the restart count. It links to the engine's file. */
  readonly podLink: string;
  /** `containers/POD_NAMESPACE_CONTAINER-ID.log` in the log folder. It links to {@link podLink}. */
  readonly containerLink: string;
}

/** Names in Kubernetes contain neither slashes nor underscores. */
const safeName = /^[A-Za-z0-9](?:[-.A-Za-z0-9]{0,251}[A-Za-z0-9])?$/;
const safeId = /^[A-Za-z0-9]{1,128}$/;

/** Maximum length of a file name, in bytes. Source: ext4MaxFileNameLen of kubelet/kuberuntime/legacy.go. */
const maxFileName = 255;

/** The log folder's folder for pods. */
export function podsFolder(folder: string): string {
  return join(folder, "pods");
}

/** The log folder's folder for containers. */
export function containersFolder(folder: string): string {
  return join(folder, "containers");
}

/**
 * Paths of a container's log, from its labels; `undefined` if a name could lead out of the folder.
 *
 * Source: BuildContainerLogsDirectory, buildContainerLogsPath and logSymlink of Kubernetes v1.36 kubelet/kuberuntime.
 *
 * @param folder - such as `/var/log`
 */
export function logLinkPaths(folder: string, id: string, labels: Readonly<Record<string, string>>): LogLinkPaths | undefined {
  const { podNamespace, podName, podUid, container } = labelNames;
  const attempt = tryAttempt(labels);
  if (attempt === undefined) return undefined;
  const [namespace = "", name = "", uid = "", own = ""] = [podNamespace, podName, podUid, container].map((label) => labels[label]);
  return pathsOf(folder, { namespace, name, uid, container: own, attempt, id });
}

/** Names that the paths of a log consist of. */
export interface LogName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly container: string;
  readonly attempt: number;
  readonly id: string;
}

/** Paths of a log; `undefined` if a name could lead out of the folder. */
export function pathsOf(folder: string, { namespace, name, uid, container, attempt, id }: LogName): LogLinkPaths | undefined {
  if (![namespace, name, uid, container].every((part) => safeName.test(part)) || !safeId.test(id)) return undefined;
  const podFolder = join(podsFolder(folder), `${namespace}_${name}_${uid}`);
  const containerFolder = join(podFolder, container);
  const fileName = `${name}_${namespace}_${container}-${id}`.slice(0, maxFileName - ".log".length);
  return {
    podFolder,
    containerFolder,
    podLink: join(containerFolder, `${attempt}.log`),
    containerLink: join(containersFolder(folder), `${fileName}.log`),
  };
}

/** Parses a pod's folder name `NAMESPACE_POD_UID`; `undefined` for other names. */
export function readPodFolder(folderName: string): Pick<LogName, "namespace" | "name" | "uid"> | undefined {
  const [namespace = "", name = "", uid = "", ...rest] = folderName.split("_");
  return rest.length === 0 && [namespace, name, uid].every((part) => safeName.test(part)) ? { namespace, name, uid } : undefined;
}

/** The engine's folder of a container. */
export interface EngineLogFolder {
  /** The container's id. */
  readonly id: string;
  /** Folder that is removed with the container, such as `/var/lib/docker/containers/ID`. */
  readonly folder: string;
  /** Folder of all containers. It exists while the engine's disk is mounted. */
  readonly parent: string;
}

/** The container's folder in the path of an engine's log; `undefined` for other paths. */
export function readEngineLog(logPath: string): EngineLogFolder | undefined {
  const [, parent, id] = /^(\/.+)\/([0-9a-f]{64})\/.+$/.exec(logPath) ?? [];
  return parent === undefined || id === undefined ? undefined : { id, parent, folder: join(parent, id) };
}
