import type { Duplex } from "node:stream";

/** A file that is put in a volume before the first container starts. */
export interface HostFile {
  /** Path inside the volume. */
  readonly path: string;
  readonly content: Buffer;
  /** Default: 0o644. */
  readonly mode?: number | undefined;
}

/** A group of containers that share a network and volumes, such as a container group of Azure or a task of ECS. */
export interface GroupSpec {
  /** Unique on the host. */
  readonly name: string;
  /** Files of each volume that containers may mount. */
  readonly volumes?: Readonly<Record<string, readonly HostFile[]>> | undefined;
}

/** A mount of one of the group's volumes. */
interface HostMount {
  readonly volume: string;
  readonly path: string;
  readonly isReadOnly?: boolean | undefined;
}

/** One run of a container. A restart is a new run. */
export interface RunSpec {
  /** Name of the container in its group. */
  readonly name: string;
  /** Number of this run among the runs of its container, from 0. */
  readonly attempt: number;
  readonly image: string;
  /** Replaces the image's entry point, and discards its command. Default: the image's. */
  readonly entrypoint?: readonly string[] | undefined;
  /** Replaces the image's command. Default: the image's. */
  readonly command?: readonly string[] | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Default: the image's. */
  readonly workingDirectory?: string | undefined;
  /** User or `user:group`. Default: the image's. */
  readonly user?: string | undefined;
  readonly mounts?: readonly HostMount[] | undefined;
  /** Whether standard input stays open for attach. Default: false. */
  readonly hasInput?: boolean | undefined;
  /** Whether the container has a terminal. Default: false. */
  readonly hasTerminal?: boolean | undefined;
  /** Memory limit. Default: none. */
  readonly memoryBytes?: number | undefined;
  /** CPU limit in processors. Default: none. */
  readonly cpus?: number | undefined;
}

/** End of a run. */
export type RunEnd =
  | {
      readonly kind: "exited";
      /** 128 plus the signal's number after a signal. */
      readonly exitCode: number;
      readonly startedAtMs: number;
      readonly endedAtMs: number;
      readonly isOutOfMemory: boolean;
    }
  /** The container never started: the image could not be pulled, or its command could not be run. */
  | { readonly kind: "refused"; readonly why: "image" | "start"; readonly message: string; readonly endedAtMs: number };

/** State of a run. Times are milliseconds since the epoch. */
export type RunState =
  | { readonly kind: "pulling"; readonly sinceMs: number }
  | { readonly kind: "starting"; readonly sinceMs: number }
  | { readonly kind: "running"; readonly startedAtMs: number }
  | RunEnd;

/** A line of a container's output. */
export interface LogLine {
  /** RFC 3339 with nanoseconds, in UTC; increases from line to line. */
  readonly time: string;
  readonly stream: "stdout" | "stderr";
  /** Includes its line feed, except for a last line without one. */
  readonly text: string;
}

/** Size of a terminal in characters. */
export interface HostTerminalSize {
  readonly rows: number;
  readonly columns: number;
}

/** Streams of a command or of an attached client. */
export interface HostSession {
  /** Written: standard input; ending it ends the input. Read: output and errors, in the order of their arrival; it ends with the command. */
  readonly stream: Duplex;
  /** Resolves when the command, or the attached container, has ended. */
  readonly exitCode: Promise<number>;
  /** Changes the terminal's size. */
  resize(size: HostTerminalSize): Promise<void>;
  /** Closes the client's side. The command goes on, as on Docker. */
  close(): void;
  /** Kills the command and what it has started on its terminal. Absent: the host cannot. */
  kill?(): void;
}

/** Resources that a run has used. */
export interface RunUsage {
  readonly cpuNanoseconds: number;
  readonly memoryBytes: number;
}

/** A run of a container. */
export interface ContainerRun {
  readonly spec: RunSpec;
  readonly state: RunState;
  /** All states so far, in order; the last is {@link state}. */
  readonly history: readonly RunState[];
  /** Resolves when the container has started, or never will; never rejects. */
  readonly started: Promise<void>;
  /** Resolves when the run has ended or was refused; never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Output so far. */
  log(): Promise<readonly LogLine[]>;
  /**
   * Runs a command.
   *
   * @param options - `terminal`: size of its terminal; `undefined`: none
   * @throws ConflictError if the container does not run
   */
  exec(command: readonly string[], options: { readonly terminal?: HostTerminalSize | undefined }): Promise<HostSession>;
  /** Attaches a client to the streams of the container. @throws ConflictError if it does not run */
  attach(): Promise<HostSession>;
  /** Sends SIGTERM, and SIGKILL after the grace period; resolves when the run has ended. */
  stop(graceMs: number): Promise<void>;
  /** @returns `undefined` if the container does not run */
  usage(): Promise<RunUsage | undefined>;
}

/** A group on a host. Disposing kills its runs and removes its volumes. */
export interface ContainerGroup extends AsyncDisposable {
  readonly name: string;
  /** IPv4 address, shared by all containers. */
  readonly address: string;
  /** Starts a run; returns before the image is pulled. Whether and when to restart a container is the fake's decision. */
  run(spec: RunSpec): ContainerRun;
}

/** Runs the containers of a cloud's fake. Disposing removes all groups. */
export interface ContainerHost extends AsyncDisposable {
  createGroup(spec: GroupSpec): Promise<ContainerGroup>;
}

/** Whether the run has ended or was refused. */
export function hasEnded(state: RunState): state is RunEnd {
  return state.kind === "exited" || state.kind === "refused";
}
