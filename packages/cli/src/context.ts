import type { Clock, Random } from "@virtual-kubelet/clock";

/** A text output of the program. */
export interface Output {
  /** Writes the text as it is, without adding a newline. */
  write(text: string): void;
  /** Whether the output is a terminal. */
  readonly isTTY: boolean;
  /** Why the last text was not written; `undefined` if it was. Default: no errors. */
  problem?(): string | undefined;
}

/** A terminal that the program draws on and reads keys from. */
export interface Terminal {
  /** Present size in characters. */
  readonly columns: number;
  readonly rows: number;
  /** Calls the listener after each change of the size. Disposing of the result stops that. */
  onResize(listener: () => void): Disposable;
  /** Reads single keys, which are then not shown, until the result is disposed of. */
  onKey(listener: (key: string) => void): Disposable;
}

/** How the program was started. Paths are absolute. */
export interface Invocation {
  /** Path of Node.js. */
  readonly node: string;
  /** Flags of Node.js. */
  readonly nodeFlags: readonly string[];
  /** Path of the program's main module, or of a link to it. */
  readonly program: string;
}

/** Everything that the program takes from its process. */
export interface Context {
  readonly stdout: Output;
  readonly stderr: Output;
  /** The terminal of {@link stdout}. Default: it is none. */
  readonly terminal?: Terminal | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly cwd: string;
  readonly homeDir: string;
  readonly isRoot: boolean;
  readonly invocation: Invocation;
  readonly pid: number;
  /** Host name. Inside a pod, the pod's name. */
  readonly hostName: string;
  /** IP addresses of the host that are neither loopback nor link-local, IPv4 first. */
  readonly hostAddresses: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}
