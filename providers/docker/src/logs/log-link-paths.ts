import { labelNames, tryAttempt } from "@virtual-kubelet/pod-runtime";
import { join } from "node:path";

/** Where shippers look for the log of one start of a container. */
export interface LogLinkPaths {
  /** `pods/NAMESPACE_POD_UID` in the folder of logs. */
  readonly podFolder: string;
  /** `CONTAINER` in {@link podFolder}. */
  readonly containerFolder: string;
  /** `N.log` in {@link containerFolder}, N being the container's restart count. It links to the engine's file. */
  readonly podLink: string;
  /** `containers/POD_NAMESPACE_CONTAINER-ID.log` in the folder of logs. It links to {@link podLink}. */
  readonly containerLink: string;
}

/** Kubernetes' names, in which no path and no separator can be. */
const safeName = /^[A-Za-z0-9](?:[-.A-Za-z0-9]{0,251}[A-Za-z0-9])?$/;
const safeId = /^[A-Za-z0-9]{1,128}$/;

/** Longest name of a file, in bytes. Source: ext4MaxFileNameLen of kubelet/kuberuntime/legacy.go. */
const maxFileName = 255;

/** The folder of a folder of logs in which pods have theirs. */
export function podsFolder(folder: string): string {
  return join(folder, "pods");
}

/** The folder of a folder of logs in which containers have links. */
export function containersFolder(folder: string): string {
  return join(folder, "containers");
}

/**
 * The paths of a container's log, from its labels; `undefined` where a name in them could leave the folder.
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

/** What the paths of a log are made of. */
export interface LogName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly container: string;
  readonly attempt: number;
  readonly id: string;
}

/** The paths of a log; `undefined` where a name could leave the folder. */
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

/** The pod of a folder's name `NAMESPACE_POD_UID`; `undefined` where it is none. */
export function readPodFolder(folderName: string): Pick<LogName, "namespace" | "name" | "uid"> | undefined {
  const [namespace = "", name = "", uid = "", ...rest] = folderName.split("_");
  return rest.length === 0 && [namespace, name, uid].every((part) => safeName.test(part)) ? { namespace, name, uid } : undefined;
}

/** A container's folder at an engine, in the path of its log. */
export interface EngineLogFolder {
  /** The container's id. */
  readonly id: string;
  /** Folder that goes with the container, such as `/var/lib/docker/containers/ID`. */
  readonly folder: string;
  /** Folder of all containers, which is there as long as the engine's disk is. */
  readonly parent: string;
}

/** The container's folder in the path of an engine's log; `undefined` for what is no engine's. */
export function readEngineLog(logPath: string): EngineLogFolder | undefined {
  const [, parent, id] = /^(\/.+)\/([0-9a-f]{64})\/.+$/.exec(logPath) ?? [];
  return parent === undefined || id === undefined ? undefined : { id, parent, folder: join(parent, id) };
}
