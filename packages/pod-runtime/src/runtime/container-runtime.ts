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

/** The place a pod's containers run in: their network and what else they share. */
export interface RuntimeSandbox {
  readonly id: string;
  /** As given at its creation. */
  readonly labels: Readonly<Record<string, string>>;
  /** Whether containers can run in it. One that is not ready never becomes so again. */
  readonly isReady: boolean;
  /** Addresses of the pod, the main one first; empty on the host's network. */
  readonly ips: readonly string[];
  /** Wall-clock time in milliseconds since the epoch. */
  readonly createdAtMs: number;
}

/** Where a container is in its life. */
export type RuntimeContainerState = { readonly kind: "created" } | { readonly kind: "running"; readonly startedAtMs: number } | RuntimeExit;

/** How a container ended. */
export interface RuntimeExit {
  readonly kind: "exited";
  /** 0 to 255; 128 + n where signal n ended it. */
  readonly exitCode: number;
  /** Absent if it never ran. Wall-clock milliseconds since the epoch. */
  readonly startedAtMs?: number | undefined;
  /** Wall-clock milliseconds since the epoch. */
  readonly finishedAtMs: number;
  readonly isOutOfMemory?: boolean | undefined;
  /** What the runtime says of it, such as why it could not be started. */
  readonly message?: string | undefined;
}

/** A container as the runtime holds it. */
export interface RuntimeContainer {
  readonly id: string;
  readonly sandboxId: string;
  /** As given at its creation. */
  readonly labels: Readonly<Record<string, string>>;
  /** The image's name, as the runtime writes it. */
  readonly image: string;
  /** The image by content: `name@sha256:…` where it has one, else its id. */
  readonly imageId: string;
  /** Whom its first process runs as, by numbers; absent where the runtime does not tell. */
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups?: readonly number[] | undefined } | undefined;
  readonly state: RuntimeContainerState;
}

/** All that carries our labels. */
export interface RuntimeInventory {
  readonly sandboxes: readonly RuntimeSandbox[];
  readonly containers: readonly RuntimeContainer[];
}

/** An image the runtime holds. */
export interface RuntimeImage {
  /** By content, as {@link RuntimeContainer.imageId}. */
  readonly id: string;
  readonly sizeBytes: number;
  /** The image's user, a name or a number, for `runAsNonRoot`; absent: root. */
  readonly user?: string | undefined;
}

/**
 * What happened at the runtime. `lost` stands for any number that were missed: list again. `away`: nothing is heard of the runtime,
 * which may be restarting, until `lost` comes.
 */
export type RuntimeEvent =
  | { readonly kind: "containerExited"; readonly id: string }
  | { readonly kind: "containerRemoved"; readonly id: string }
  | { readonly kind: "sandboxStopped"; readonly id: string }
  | { readonly kind: "lost" }
  | { readonly kind: "away" };

/**
 * What runs containers. All of `pod-runtime` stands on this; a runtime implements it once. Calls may come at any time
 * and in parallel for different containers. Ids are the runtime's own. Times are wall-clock milliseconds since the epoch.
 *
 * Every call rejects with `signal.reason` when aborted; what it had begun may then be done or not. Errors are matched by
 * their errdefs code: NotFoundError for an id that is no more, InvalidInputError for what can never work, ConflictError
 * for what cannot be done now, UnavailableError while the runtime is away; others are tried again.
 */
export interface ContainerRuntime {
  /** The scheme of container ids in statuses, such as `docker`. */
  readonly name: string;
  /** For the collection of images nobody uses; absent: images stay. */
  readonly images?: ImageCollection | undefined;
  /** Whether it takes mounts of images; default `false`: pods with volumes of type image are refused. */
  readonly canMountImages?: boolean | undefined;

  /**
   * Resolves as soon as the runtime answers anything. A command in a container that is late says nothing of the container while this fails.
   * Absent: the runtime answers whenever it tells what happens.
   */
  ping?(signal: AbortSignal): Promise<void>;

  /** Makes a sandbox with its network, ready to run containers. Leaves nothing behind when it fails. */
  createSandbox(spec: SandboxSpec, signal: AbortSignal): Promise<RuntimeSandbox>;
  /** Kills what runs in it, and frees its network. Idempotent; one that is gone is stopped. */
  stopSandbox(sandboxId: string, signal: AbortSignal): Promise<void>;
  /** Removes it with all its containers, their logs with them. Idempotent. */
  removeSandbox(sandboxId: string, signal: AbortSignal): Promise<void>;

  /**
   * @returns the container's id. With the same labels of pod, container and attempt it gives the one that is there.
   * @throws InvalidInputError if the runtime refuses the spec
   */
  createContainer(sandboxId: string, spec: ContainerSpec, signal: AbortSignal): Promise<string>;
  /**
   * Begins its process; idempotent while it runs. Rejects if the process cannot be begun; the container then is `exited` or
   * `created`.
   *
   * @throws ConflictError for one that has ended: it is never begun a second time
   */
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Sends the stop signal, and SIGKILL after the grace; resolves when it has ended. Called again with less grace, it shortens it. Idempotent. */
  stopContainer(id: string, options: StopContainerOptions, signal: AbortSignal): Promise<void>;
  /** Sends SIGKILL; resolves when it has ended. Idempotent. */
  killContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Removes a container that does not run, and its logs. Idempotent. */
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Changes the resources of a running container in place. @throws UnsupportedError if that needs a restart */
  resizeContainer(id: string, limits: ResourceLimits, signal: AbortSignal): Promise<void>;

  /** All sandboxes and containers with these labels, running or not. Never a part: it fails as a whole. */
  list(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RuntimeInventory>;
  /** @throws NotFoundError */
  inspectContainer(id: string, signal: AbortSignal): Promise<RuntimeContainer>;
  /** @throws NotFoundError */
  inspectSandbox(id: string, signal: AbortSignal): Promise<RuntimeSandbox>;
  /** What happens from now on. Begins with `lost`; a gap begins with `away`, if it is noticed then, and ends with `lost`. Ends only by `signal`, with its reason. */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;

  /** @throws NotFoundError if it is not there */
  inspectImage(image: string, signal: AbortSignal): Promise<RuntimeImage>;
  /**
   * Fetches an image, with each of the credentials in turn and at last without.
   *
   * @throws InvalidInputError for a name that is none, NotFoundError, ForbiddenError, UnavailableError
   */
  pullImage(image: string, credentials: readonly RegistryCredentials[], signal: AbortSignal): Promise<RuntimeImage>;

  /** As core's `ContainerAccess.runInContainer`. */
  exec(id: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult>;
  /** As core's `ContainerAccess.attachToContainer`. */
  attach(id: string, io: AttachIO, signal: AbortSignal): Promise<void>;
  /** As core's `ContainerAccess.getContainerLogs`; `previous` is the caller's affair, who knows the ids. */
  logs(id: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs>;
  /** As core's `ContainerAccess.portForward`, to 127.0.0.1 inside the sandbox. */
  portForward(sandboxId: string, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
  /** What a running container uses now. @throws NotFoundError if it does not run */
  stats(id: string, signal: AbortSignal): Promise<ContainerStats>;
  /** Traffic of a sandbox's own network; absent where the runtime cannot tell. */
  network?(sandboxId: string, signal: AbortSignal): Promise<NetworkStats>;
}

/** Options of {@link ContainerRuntime.stopContainer}. */
export interface StopContainerOptions {
  readonly graceMs: number;
  /** Such as `SIGTERM`. Default: the image's. */
  readonly stopSignal?: string | undefined;
}
