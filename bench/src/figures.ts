/** Results for one API server. */
export interface ApiServerFigures {
  /** Pods per second that are created, get two status updates, and are deleted; median of the rounds. */
  readonly podsPerSecond: number;
  /** Peak memory of all its processes together. */
  readonly peakMiB: number;
}

/** Results of `api-server.ts`. */
export interface ApiServerReport {
  readonly circumstances: string;
  /** Version of kube-apiserver. */
  readonly kubernetes: string;
  readonly held: number;
  readonly rounds: number;
  /** The embedded server's program. */
  readonly embedded: ApiServerFigures;
  /** Peak memory of a process with Node's default settings that runs the embedded server along with its own work. */
  readonly hostMiB: number;
  /** kube-apiserver with etcd. */
  readonly real: ApiServerFigures;
  /**
   * Duration from the call of `startApiServer` to the first 200 over HTTPS: the first start in a process, which includes compilation, and
   * the median of the others.
   */
  readonly startMs: { readonly first: number; readonly warm: number };
}

/** Results for pods on an engine, or for their containers created through its API. */
export interface DockerFigures {
  /** Duration from the creation of a single pod until it runs; median of the rounds. */
  readonly oneMs: number;
  /** Rate for many concurrent pods; median of the rounds. */
  readonly podsPerSecond: number;
}

/** Engine calls per pod. */
export interface EngineCalls {
  /** From the pod's creation until it runs, and until it is removed. */
  readonly node: { readonly start: number; readonly whole: number };
  /** The same containers through the engine's API. */
  readonly plain: EngineCalls["node"];
}

/** Results of `docker.ts`. */
export interface DockerReport {
  readonly circumstances: string;
  readonly pods: number;
  readonly node: DockerFigures;
  /** The engine's API, called directly. */
  readonly plain: DockerFigures;
  readonly calls: EngineCalls;
  readonly kept: { readonly pods: number; readonly cpuShare: number; readonly peakMiB: number; readonly mockPeakMiB: number };
}

/** Results of `nomad.ts`: medians in milliseconds. */
export interface NomadReport {
  readonly circumstances: string;
  readonly version: string;
  readonly rounds: number;
  /** From the creation of a pod until a watch shows it as Running. */
  readonly nodeMs: number;
  /** From the registration of the pod's job until its allocation is running. */
  readonly plainMs: number;
}

/** Protocol of kubectl for a command. */
export type Transport = "spdy" | "websocket";

/** Results for one server of streams; medians of the rounds. */
export interface StreamFigures {
  /** Round trip of 64 bytes to a command and back, by transport. */
  readonly echoMs: Readonly<Record<Transport, number>>;
  /** Throughput of a command's output, by transport. */
  readonly stdoutMBs: Readonly<Record<Transport, number>>;
  readonly logMBs: number;
}

/** Results of `streams.ts`. */
export interface StreamReport {
  /** Date, machine and load; see `circumstances`. */
  readonly circumstances: string;
  readonly node: StreamFigures;
  readonly direct: StreamFigures;
  /** Resident memory in MiB that each stream with a stalled reader adds. */
  readonly stalledMiB: Readonly<Record<Transport | "log", number>>;
  /** Clients that follow a log of ten lines per second. */
  readonly follows: { readonly clients: number; readonly silent: number; readonly p99Ms: number };
  /** Streams that were opened and closed, and the open files and KiB of heap that remained. */
  readonly closed: { readonly streams: number; readonly openFiles: number; readonly heapKiB: number };
}

/** Results for pods of a far cluster; medians of the rounds. */
export interface ClusterFigures {
  readonly upPodsPerSecond: number;
  readonly downPodsPerSecond: number;
  /** From just before the request until a watch of the same cluster shows the pod as Running. */
  readonly upP50Ms: number;
  readonly upP99Ms: number;
}

/** Results of `two-clusters.ts`. */
export interface ClustersReport {
  readonly circumstances: string;
  readonly kubernetes: string;
  readonly rounds: number;
  readonly pods: number;
  /** Pods of the home cluster on a virtual node. The far scheduler has Kubernetes' own limit of requests. */
  readonly through: ClusterFigures;
  /** The same pods created in the far cluster. */
  readonly direct: ClusterFigures;
  /** The same without the scheduler's limit. */
  readonly unlimited: { readonly through: ClusterFigures; readonly direct: ClusterFigures };
  /** Cost of the program while one virtual node is given many pods. */
  readonly many: {
    readonly pods: number;
    /** Size of the JSON of one of them. */
    readonly podBytes: number;
    /** Pods that did not run in time. */
    readonly missing: number;
    readonly podsPerSecond: number;
    readonly peakMiB: number;
    /** Share of a core. */
    readonly cpuShare: number;
  };
}

/** Results for many nodes of one program. */
export interface ManyNodesFigures {
  /** From the program's start until a watch shows all nodes as Ready. */
  readonly readyMs: number;
  /** Without pods. */
  readonly rest: {
    /** Share of a core. */
    readonly cpuShare: number;
    readonly residentMiB: number;
    /** Established TCP connections. */
    readonly connections: number;
  };
  readonly peakMiB: number;
  readonly up: ManyNodesPhase;
  readonly down: ManyNodesPhase;
  /** Pods that did not run, or were not gone, in time. */
  readonly missing: number;
  /** Lateness of the renewals by the leases' `renewTime`, at rest and while pods come and go. */
  readonly lateP99Ms: { readonly rest: number; readonly load: number };
  /** Upper bound of the same in the program's own metric; only ours has one. */
  readonly lateP99BoundMs?: number;
}

/** Pods that come, or go. */
interface ManyNodesPhase {
  readonly podsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuSeconds: number;
}

/** Results of `many-nodes.ts`; medians of the rounds. */
export interface ManyNodesReport {
  readonly circumstances: string;
  readonly kubernetes: string;
  readonly nodes: number;
  readonly podsPerNode: number;
  readonly rounds: number;
  readonly ours: ManyNodesFigures;
  readonly kwok: ManyNodesFigures;
}
