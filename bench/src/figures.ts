/** Of one API server. */
export interface ApiServerFigures {
  /** Created, given two statuses, and deleted; the median round. */
  readonly podsPerSecond: number;
  /** Of all its processes together. */
  readonly peakMiB: number;
}

/** What `api-server.ts` finds. */
export interface ApiServerReport {
  readonly circumstances: string;
  /** kube-apiserver's version. */
  readonly kubernetes: string;
  readonly held: number;
  readonly rounds: number;
  /** Of the program. */
  readonly embedded: ApiServerFigures;
  /** Peak of a process that has the embedded server beside its own work, with Node's own settings. */
  readonly hostMiB: number;
  /** kube-apiserver with etcd. */
  readonly real: ApiServerFigures;
  /** From the call of `startApiServer` to the first 200 over HTTPS: of a process's first, which compiles, and the others' median. */
  readonly startMs: { readonly first: number; readonly warm: number };
}

/** Of pods on an engine, or of their containers by its API. */
export interface DockerFigures {
  /** One pod from its creation until it runs, median of the rounds. */
  readonly oneMs: number;
  /** Pods at once, median of the rounds. */
  readonly podsPerSecond: number;
}

/** Calls of the engine for each pod. */
export interface EngineCalls {
  /** From its creation until it runs, and until it is removed. */
  readonly node: { readonly start: number; readonly whole: number };
  /** The same containers by the engine's API. */
  readonly plain: EngineCalls["node"];
}

/** What `docker.ts` finds. */
export interface DockerReport {
  readonly circumstances: string;
  readonly pods: number;
  readonly node: DockerFigures;
  /** The engine's API, called directly. */
  readonly plain: DockerFigures;
  readonly calls: EngineCalls;
  readonly kept: { readonly pods: number; readonly cpuShare: number; readonly peakMiB: number; readonly mockPeakMiB: number };
}

/** What `nomad.ts` finds: medians, in milliseconds. */
export interface NomadReport {
  readonly circumstances: string;
  readonly version: string;
  readonly rounds: number;
  /** A pod from its creation until a watch shows it Running. */
  readonly nodeMs: number;
  /** The pod's job from its registration until its allocation is running. */
  readonly plainMs: number;
}

/** How kubectl reaches a command. */
export type Transport = "spdy" | "websocket";

/** Of one server of streams, medians of the rounds. */
export interface StreamFigures {
  /** Of 64 bytes to a command and back, by transport. */
  readonly echoMs: Readonly<Record<Transport, number>>;
  /** Of a command's output, by transport. */
  readonly stdoutMBs: Readonly<Record<Transport, number>>;
  readonly logMBs: number;
}

/** What `streams.ts` finds. */
export interface StreamReport {
  /** When, on what, and how busy that was. */
  readonly circumstances: string;
  readonly node: StreamFigures;
  readonly direct: StreamFigures;
  /** Resident memory that each stream adds whose reader stalls, in MiB. */
  readonly stalledMiB: Readonly<Record<Transport | "log", number>>;
  /** Clients that follow a log of ten lines a second. */
  readonly follows: { readonly clients: number; readonly silent: number; readonly p99Ms: number };
  /** Streams opened and closed, and what is left of them: open files, and KiB of heap. */
  readonly closed: { readonly streams: number; readonly openFiles: number; readonly heapKiB: number };
}
