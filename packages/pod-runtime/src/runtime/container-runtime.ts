import type {
  AttachIO,
  ContainerLogOptions,
  ContainerLogs,
  ContainerStats,
  ExecResult,
  NetworkStats,
  RegistryCredentials,
} from "@virtual-kubelet/core";
import type { Duplex } from "node:stream";
import type { ImageCollection } from "./image-collection.ts";
import type { ContainerSpec, ResourceLimits, SandboxSpec } from "./runtime-spec.ts";

/** The environment of a pod's containers: its network and other shared namespaces. */
export interface RuntimeSandbox {
  readonly id: string;
  /** The labels of its creation. */
  readonly labels: Readonly<Record<string, string>>;
  /** Whether containers can run in it. Once false, it stays false. */
  readonly isReady: boolean;
  /** Addresses of the pod, the main one first; empty on the host's network. */
  readonly ips: readonly string[];
  /** Wall-clock time in milliseconds since the epoch. */
  readonly createdAtMs: number;
}

/** State of a container: created, running or exited. */
export type RuntimeContainerState = { readonly kind: "created" } | { readonly kind: "running"; readonly startedAtMs: number } | RuntimeExit;

/** End of a container. */
export interface RuntimeExit {
  readonly kind: "exited";
  /** 0 to 255; 128 + n after signal n. */
  readonly exitCode: number;
  /** `undefined` if it never ran. Wall-clock milliseconds since the epoch. */
  readonly startedAtMs?: number | undefined;
  /** Wall-clock milliseconds since the epoch. */
  readonly finishedAtMs: number;
  readonly isOutOfMemory?: boolean | undefined;
  /** The runtime's explanation, such as why the container could not start. */
  readonly message?: string | undefined;
}

/** A container at the runtime. */
export interface RuntimeContainer {
  readonly id: string;
  readonly sandboxId: string;
  /** The labels of its creation. */
  readonly labels: Readonly<Record<string, string>>;
  /** The image's name, as the runtime writes it. */
  readonly image: string;
  /** The image by content: `name@sha256:…` if it has a digest, else its id. */
  readonly imageId: string;
  /** Numeric user of its first process; `undefined` if the runtime does not report it. */
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups?: readonly number[] | undefined } | undefined;
  readonly state: RuntimeContainerState;
}

/** Sandboxes and containers with given labels. */
export interface RuntimeInventory {
  readonly sandboxes: readonly RuntimeSandbox[];
  readonly containers: readonly RuntimeContainer[];
}

/** An image at the runtime. */
export interface RuntimeImage {
  /** By content, as {@link RuntimeContainer.imageId}. */
  readonly id: string;
  readonly sizeBytes: number;
  /** The image's user, a name or a number, for `runAsNonRoot`; `undefined`: root. */
  readonly user?: string | undefined;
}

/**
 * A change at the runtime. `lost` stands for any number of missed events: list again. `away`: no events arrive until `lost`, because the
 * runtime may be restarting.
 */
export type RuntimeEvent =
  | { readonly kind: "containerExited"; readonly id: string }
  | { readonly kind: "containerRemoved"; readonly id: string }
  | { readonly kind: "sandboxStopped"; readonly id: string }
  | { readonly kind: "lost" }
  | { readonly kind: "away" };

/**
 * Runs containers: the only interface between pod-runtime and an engine. Calls may arrive at any time, and in parallel for different
 * containers. Ids are the runtime's own. Times are wall-clock milliseconds since the epoch.
 *
 * An aborted call rejects with `signal.reason`; it may have taken effect. Errors are matched by their errdefs code: NotFoundError for an id
 * that does not exist any more, InvalidInputError for a request that can never succeed, ConflictError for one that cannot succeed now,
 * UnavailableError while the runtime does not answer. Others are retried.
 */
export interface ContainerRuntime {
  /** Scheme of container ids in statuses, such as `docker`. */
  readonly name: string;
  /** Collects unused images. Default: images are kept. */
  readonly images?: ImageCollection | undefined;
  /** Whether it mounts images. Default: false, and pods with volumes of type image are refused. */
  readonly canMountImages?: boolean | undefined;

  /**
   * Resolves when the runtime answers at all. While it fails, a late command in a container says nothing about the container.
   * Default: the runtime answers whenever it sends events.
   */
  ping?(signal: AbortSignal): Promise<void>;

  /** Creates a sandbox with its network, ready to run containers. Leaves nothing behind on failure. */
  createSandbox(spec: SandboxSpec, signal: AbortSignal): Promise<RuntimeSandbox>;
  /** Kills the sandbox's processes and frees its network. Idempotent; succeeds for a sandbox that does not exist. */
  stopSandbox(sandboxId: string, signal: AbortSignal): Promise<void>;
  /** Removes the sandbox with all its containers and their logs. Idempotent. */
  removeSandbox(sandboxId: string, signal: AbortSignal): Promise<void>;

  /**
   * @returns the container's id; for labels with the same pod, container and attempt, the id of the existing container
   * @throws InvalidInputError if the runtime refuses the spec
   */
  createContainer(sandboxId: string, spec: ContainerSpec, signal: AbortSignal): Promise<string>;
  /**
   * Starts the container's process. Idempotent while it runs. If the process cannot start, it rejects and the container is `exited` or
   * `created`.
   *
   * @throws ConflictError for a container that has ended: it never starts a second time
   */
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Sends the stop signal, and SIGKILL after the grace period; resolves when the container has ended. A second call with less grace
   * shortens it. Idempotent.
   */
  stopContainer(id: string, options: StopContainerOptions, signal: AbortSignal): Promise<void>;
  /** Sends SIGKILL; resolves when the container has ended. Idempotent. */
  killContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Removes a container that does not run, and its logs. Idempotent. */
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Changes the resources of a running container in place. @throws UnsupportedError if that needs a restart */
  resizeContainer(id: string, limits: ResourceLimits, signal: AbortSignal): Promise<void>;

  /** Lists all sandboxes and containers with these labels, running or not. Fails as a whole, and never returns a part. */
  list(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RuntimeInventory>;
  /** @throws NotFoundError */
  inspectContainer(id: string, signal: AbortSignal): Promise<RuntimeContainer>;
  /** @throws NotFoundError */
  inspectSandbox(id: string, signal: AbortSignal): Promise<RuntimeSandbox>;
  /**
   * Changes from now on. The first event is `lost`; a gap starts with `away`, if it is noticed then, and ends with `lost`. Ends only by
   * `signal`, with its reason.
   */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;

  /** @throws NotFoundError if the image is not there */
  inspectImage(image: string, signal: AbortSignal): Promise<RuntimeImage>;
  /**
   * Pulls an image: with each of the credentials in turn, then without any.
   *
   * @throws InvalidInputError for a malformed name, NotFoundError, ForbiddenError, UnavailableError
   */
  pullImage(image: string, credentials: readonly RegistryCredentials[], signal: AbortSignal): Promise<RuntimeImage>;

  /** As core's `ContainerAccess.runInContainer`. */
  exec(id: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult>;
  /** As core's `ContainerAccess.attachToContainer`. */
  attach(id: string, io: AttachIO, signal: AbortSignal): Promise<void>;
  /** As core's `ContainerAccess.getContainerLogs`, except `previous`: the caller passes the id of the container it wants. */
  logs(id: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs>;
  /** As core's `ContainerAccess.portForward`, to 127.0.0.1 inside the sandbox. */
  portForward(sandboxId: string, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
  /** Current usage of a running container. @throws NotFoundError if it does not run */
  stats(id: string, signal: AbortSignal): Promise<ContainerStats>;
  /** Traffic of a sandbox's own network. Absent if the runtime cannot measure it. */
  network?(sandboxId: string, signal: AbortSignal): Promise<NetworkStats>;
}

/** How a container is stopped. */
export interface StopContainerOptions {
  /** Time between the stop signal and SIGKILL, in milliseconds. */
  readonly graceMs: number;
  /** Such as `SIGTERM`. Default: the image's. */
  readonly stopSignal?: string | undefined;
}
