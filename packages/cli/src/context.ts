import type { Clock, Random } from "@virtual-kubelet/clock";

/** Where text goes. */
export interface Output {
  /** Writes the text as it is; a line brings its own end. */
  write(text: string): void;
  /** Whether a person is likely to look at it. */
  readonly isTTY: boolean;
  /** Why what was written last did not arrive; `undefined` if it did. Default: it always does. */
  problem?(): string | undefined;
}

/** All the program takes from the process it runs in. */
export interface Context {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly cwd: string;
  readonly homeDir: string;
  readonly isRoot: boolean;
  /** The process's id. */
  readonly pid: number;
  /** Also a pod's name, inside one. */
  readonly hostName: string;
  /** IP addresses of the host that others can reach it by: neither loopback nor link-local. IPv4 first. */
  readonly hostAddresses: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}
