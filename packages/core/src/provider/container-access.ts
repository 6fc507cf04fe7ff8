import type { Duplex, Readable, Writable } from "node:stream";
import type { PodRef } from "./pod-ref.ts";

/** Selection of a container's output. Defaults are filled in, and values checked. */
export interface ContainerLogOptions {
  /** Continue with later output until the container has ended. */
  readonly follow: boolean;
  /** Output of the container's last terminated instance instead of the current one. */
  readonly previous: boolean;
  /** Begin each line with its time. */
  readonly timestamps: boolean;
  /** Only lines written at this time or later; RFC 3339. */
  readonly sinceTime?: string | undefined;
  /** Maximum number of lines, taken from the end before {@link sinceTime} is applied; 0 or more. */
  readonly tailLines?: number | undefined;
  /** Maximum number of bytes, including times; 1 or more. */
  readonly limitBytes?: number | undefined;
}

/** An option of {@link ContainerLogOptions} that a back end may have applied itself. */
export type AppliedLogOption = "sinceTime" | "tailLines" | "limitBytes";

/**
 * A container's output: standard output and standard error in order of arrival. Chunk boundaries have no meaning, and a chunk must not be
 * changed after it was yielded. The reader sets the pace: nothing is read ahead of a slow client. Ending the iteration
 * early releases its resources.
 */
export interface ContainerLogs {
  /** The output so far. If the back end follows by itself, also all later output; it must then apply `tailLines`. */
  readonly data: AsyncIterable<Uint8Array | string>;
  /** With `follow`: later output, if {@link data} ends before it. Ends when the container has ended. */
  readonly live?: AsyncIterable<Uint8Array | string> | undefined;
  /**
   * Whether each line begins with its time (RFC 3339 with up to nine fractional digits) and a space, as logs of Docker
   * and Kubernetes do on request. Default: `false`; times and `sinceTime` are then not available.
   */
  readonly timestamps?: boolean | undefined;
  /** Options that are already applied; the node's server applies the others. Default: none. */
  readonly applied?: readonly AppliedLogOption[] | undefined;
}

/** Columns and rows of a terminal. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Streams of a command or of an attached container. A stream that the client does not request is `undefined`. */
export interface AttachIO {
  /**
   * Ends with the client's input; close the input of the process then. In an attach it ends only if the
   * container has `stdinOnce`: otherwise another client may follow, and the container's input stays open.
   */
  readonly stdin: Readable | undefined;
  /** The provider writes with back-pressure, and does not have to end the streams. */
  readonly stdout: Writable | undefined;
  /** Always `undefined` with {@link tty}, because a terminal has one output. */
  readonly stderr: Writable | undefined;
  /** Whether the streams are a terminal. */
  readonly tty: boolean;
  /** Sizes of the terminal, the current one first; empty without {@link tty}. */
  readonly resizes: AsyncIterable<TerminalSize>;
}

/** Result of a command. */
export interface ExecResult {
  /** 0 to 255; 128 + n if signal n ended the command. */
  readonly exitCode: number;
}

/**
 * Implementation of `kubectl logs`, `exec`, `cp`, `attach` and `port-forward`. The caller has checked that the pod is on this
 * node and has the container. `signal` aborts when the client is gone: release the resources of the call then, and
 * end a command that it runs; an attached container continues.
 *
 * Errors: NotFoundError when the back end does not, or no longer, hold the container; UnavailableError,
 * QuotaExceededError; the client sees any other error as an internal error.
 */
export interface ContainerAccess {
  /** Resolves as soon as the output is known to exist, without waiting for the first of it. */
  getContainerLogs(pod: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs>;
  /** Runs a command; resolves when it has ended and all its output is written to `io`. */
  runInContainer(pod: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult>;
  /** Attaches to the container's main process, without its earlier output; resolves when the process or its output has ended. */
  attachToContainer(pod: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void>;
  /**
   * Connects a stream to a TCP port of the pod. Each direction ends independently; resolves when both have ended.
   *
   * @throws UnavailableError if nothing listens on the port
   */
  portForward(pod: PodRef, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
}
