import type { Duplex, Readable, Writable } from "node:stream";
import type { PodRef } from "./pod-ref.ts";

/** What of a container's output is wanted. Defaults are filled in, and values checked. */
export interface ContainerLogOptions {
  /** Go on with what is written from now on, until the container has ended. */
  readonly follow: boolean;
  /** The output of the container's last instance that has ended, in place of the current one's. */
  readonly previous: boolean;
  /** Each line is to begin with its time. */
  readonly timestamps: boolean;
  /** Only lines written then or later; RFC 3339. */
  readonly sinceTime?: string | undefined;
  /** Only that many of the last lines, counted before {@link sinceTime} takes any away; 0 or more. */
  readonly tailLines?: number | undefined;
  /** No more bytes than that, times included; 1 or more. */
  readonly limitBytes?: number | undefined;
}

/** An option of {@link ContainerLogOptions} that a back end may have applied by itself. */
export type AppliedLogOption = "sinceTime" | "tailLines" | "limitBytes";

/**
 * A container's output, standard output and standard error as they came. Where one chunk ends and the next begins means
 * nothing; a chunk stays as it was given. Reading drives it: nobody reads ahead of a slow client. Ending the iteration
 * early frees what it holds.
 */
export interface ContainerLogs {
  /** What was written so far. With a back end that follows by itself, also all that comes after; then it must apply `tailLines`. */
  readonly data: AsyncIterable<Uint8Array | string>;
  /** With `follow`: what is written from now on, where {@link data} ends before it. Ends when the container has ended. */
  readonly live?: AsyncIterable<Uint8Array | string> | undefined;
  /**
   * Whether each line begins with its time, RFC 3339 with up to nine digits of a second, and a space, as logs of Docker
   * and of Kubernetes do when asked for timestamps. Default `false`; then neither times nor `sinceTime` can be had.
   */
  readonly timestamps?: boolean | undefined;
  /** What is applied already; the node's server applies the rest. Default: nothing. */
  readonly applied?: readonly AppliedLogOption[] | undefined;
}

/** Columns and rows of a terminal. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** The streams of a command or of an attached container. What the client does not want is `undefined`. */
export interface AttachIO {
  /**
   * Ends where the client's input does, and then the process's is to be closed. When attaching it ends only where the
   * container has `stdinOnce`: otherwise another client may come, and the container's input stays open.
   */
  readonly stdin: Readable | undefined;
  /** The provider writes, heeds back-pressure, and need not end them. */
  readonly stdout: Writable | undefined;
  /** Never there with {@link tty}: a terminal has one output. */
  readonly stderr: Writable | undefined;
  /** Whether it is a terminal. */
  readonly tty: boolean;
  /** The terminal's sizes, the current one first; nothing without {@link tty}. */
  readonly resizes: AsyncIterable<TerminalSize>;
}

/** How a command ended. */
export interface ExecResult {
  /** 0 to 255; 128 + n where signal n ended it. */
  readonly exitCode: number;
}

/**
 * What `kubectl logs`, `exec`, `cp`, `attach` and `port-forward` come to. The caller has checked that the pod is this
 * node's and has the container. `signal` aborts when the client is gone: what the call holds is then let go, and a
 * command it runs is ended; an attached container goes on.
 *
 * Errors: NotFoundError where the back end does not hold the container, or not any more; UnavailableError,
 * QuotaExceededError; any other is shown to the client as an internal error.
 */
export interface ContainerAccess {
  /** Resolves as soon as it is known that there is output, without waiting for any. */
  getContainerLogs(pod: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs>;
  /** Runs a command; resolves when it has ended and all its output is written to `io`. */
  runInContainer(pod: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult>;
  /** Joins the streams of the container's main process, without what it wrote before; resolves when it or the output has ended. */
  attachToContainer(pod: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void>;
  /**
   * Joins a stream with a TCP port of the pod, each direction ending by itself; resolves when both have ended.
   *
   * @throws UnavailableError if nothing listens on the port
   */
  portForward(pod: PodRef, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
}
