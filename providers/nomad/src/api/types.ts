/**
 * The part of Nomad's JSON that the provider reads and writes, in Nomad's own names. Durations are nanoseconds; what is
 * absent may be `null` as well. Source: recorded from Nomad 2.0.6-dev, see `fixtures/`.
 */
export interface NomadJob {
  readonly ID: string;
  readonly Name: string;
  readonly Namespace?: string | undefined;
  readonly Region?: string | undefined;
  readonly Type: "service" | "batch";
  readonly Datacenters: readonly string[];
  readonly NodePool?: string | undefined;
  readonly Constraints?: readonly NomadConstraint[] | undefined;
  readonly Meta: Readonly<Record<string, string>>;
  readonly TaskGroups: readonly NomadTaskGroup[];
}

/** What a Nomad client must have for a job to be placed on it. */
export interface NomadConstraint {
  readonly LTarget: string;
  readonly RTarget: string;
  readonly Operand: string;
}

/** Tasks that are placed together. */
interface NomadTaskGroup {
  readonly Name: string;
  readonly Count: number;
  readonly RestartPolicy: NomadRestartPolicy;
  readonly ReschedulePolicy: { readonly Attempts: number; readonly Unlimited: boolean };
  readonly Disconnect?: { readonly LostAfter: number; readonly Replace: boolean; readonly Reconcile: string } | undefined;
  readonly EphemeralDisk: { readonly SizeMB: number; readonly Sticky: boolean; readonly Migrate: boolean };
  readonly Networks?: readonly NomadNetwork[] | undefined;
  readonly Volumes?: Readonly<Record<string, NomadVolume>> | undefined;
  readonly Tasks: readonly NomadTask[];
}

/** How often, and how fast, tasks are started again. */
export interface NomadRestartPolicy {
  readonly Attempts: number;
  readonly Interval: number;
  readonly Delay: number;
  readonly Mode: "fail" | "delay";
}

/** The network of a group. */
export interface NomadNetwork {
  readonly Mode: string;
  readonly Hostname?: string | undefined;
  readonly DNS?:
    | { readonly Servers: readonly string[]; readonly Searches: readonly string[]; readonly Options: readonly string[] }
    | undefined;
  readonly ReservedPorts?: readonly { readonly Label: string; readonly Value: number; readonly To: number }[] | undefined;
  /** Nomad chooses the client's ports. */
  readonly DynamicPorts?: readonly { readonly Label: string; readonly To: number }[] | undefined;
}

/** A volume that Nomad mounts by itself. */
export interface NomadVolume {
  readonly Name: string;
  readonly Type: "host" | "csi";
  readonly Source: string;
  readonly ReadOnly: boolean;
  readonly AccessMode?: string | undefined;
  readonly AttachmentMode?: string | undefined;
}

/** One container. */
export interface NomadTask {
  readonly Name: string;
  readonly Driver: string;
  readonly User?: string | undefined;
  readonly Config: Readonly<Record<string, unknown>>;
  readonly Env: Readonly<Record<string, string>>;
  readonly Lifecycle?: { readonly Hook: "prestart"; readonly Sidecar: boolean } | undefined;
  readonly RestartPolicy?: NomadRestartPolicy | undefined;
  readonly Resources: {
    readonly CPU: number;
    readonly MemoryMB: number;
    readonly MemoryMaxMB?: number | undefined;
    readonly Devices?: readonly { readonly Name: string; readonly Count: number }[] | undefined;
  };
  readonly KillTimeout: number;
  readonly KillSignal?: string | undefined;
  readonly LogConfig: { readonly MaxFiles: number; readonly MaxFileSizeMB: number };
  readonly Templates?: readonly NomadTemplate[] | undefined;
  readonly VolumeMounts?: readonly { readonly Volume: string; readonly Destination: string; readonly ReadOnly: boolean }[] | undefined;
}

/** A file, or variables of the environment, that the client writes before the task starts. */
export interface NomadTemplate {
  readonly EmbeddedTmpl: string;
  readonly DestPath: string;
  readonly Perms?: string | undefined;
  readonly Uid?: number | undefined;
  readonly Gid?: number | undefined;
  readonly ChangeMode: "noop";
  readonly Envvars?: boolean | undefined;
}

/** Where an allocation is, as its client tells. */
type ClientStatus = "pending" | "running" | "complete" | "failed" | "lost" | "unknown";

/** The part that lists, details and events of allocations have in common, and what only some of them have. */
export interface Allocation {
  readonly ID: string;
  readonly JobID: string;
  readonly Namespace: string;
  readonly NodeID: string;
  readonly NodeName?: string | undefined;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
  readonly CreateTime: number;
  readonly ClientStatus: ClientStatus;
  readonly ClientDescription?: string | undefined;
  readonly DesiredStatus: string;
  readonly DesiredDescription?: string | undefined;
  readonly DesiredTransition?:
    | {
        /** It is to go: its client is drained, or somebody has stopped it. */
        readonly Migrate?: boolean | null | undefined;
        /** `null` unless somebody has stopped it. */
        readonly NoShutdownDelay?: boolean | null | undefined;
      }
    | null
    | undefined;
  readonly PreemptedByAllocation?: string | undefined;
  readonly TaskStates?: Readonly<Record<string, TaskState>> | null | undefined;
  /** Not in lists. */
  readonly AllocatedResources?:
    | { readonly Shared?: { readonly Ports?: readonly AllocatedPort[] | null | undefined } | undefined }
    | null
    | undefined;
  /** Not in lists. */
  readonly NetworkStatus?: { readonly Address?: string | undefined; readonly AddressIPv6?: string | undefined } | null | undefined;
}

/** A port of a client that leads to one of the allocation's. */
export interface AllocatedPort {
  readonly Label: string;
  readonly Value: number;
  /** The allocation's port. */
  readonly To?: number | undefined;
  readonly HostIP?: string | undefined;
}

/** What becomes of a task. */
export interface TaskState {
  readonly State: "pending" | "running" | "dead";
  readonly Failed: boolean;
  readonly Restarts: number;
  /** RFC 3339. */
  readonly StartedAt?: string | null | undefined;
  readonly FinishedAt?: string | null | undefined;
  /** The last ten, oldest first. */
  readonly Events?: readonly TaskEvent[] | null | undefined;
}

/** What happened to a task. */
export interface TaskEvent {
  readonly Type: string;
  /** Nanoseconds since 1970: more than a number holds exactly. */
  readonly Time: number;
  readonly ExitCode?: number | undefined;
  readonly Signal?: number | undefined;
  readonly DisplayMessage?: string | undefined;
  readonly Message?: string | undefined;
  readonly Details?: Readonly<Record<string, string>> | null | undefined;
}

/** A job as lists show it. */
export interface JobStub {
  readonly ID: string;
  readonly Namespace: string;
  readonly Meta?: Readonly<Record<string, string>> | null | undefined;
  readonly Stop?: boolean | undefined;
  readonly CreateIndex: number;
  readonly JobModifyIndex: number;
  /** Nanoseconds since 1970. */
  readonly SubmitTime?: number | undefined;
}

/** What the scheduler made of a job. */
export interface Evaluation {
  readonly ID: string;
  readonly JobID: string;
  readonly Namespace: string;
  readonly Status: string;
  readonly FailedTGAllocs?: Readonly<Record<string, PlacementMetric>> | null | undefined;
}

/** Why a group found no place. */
export interface PlacementMetric {
  readonly NodesEvaluated?: number | undefined;
  readonly NodesFiltered?: number | undefined;
  readonly NodesExhausted?: number | undefined;
  readonly ConstraintFiltered?: Readonly<Record<string, number>> | null | undefined;
  readonly DimensionExhausted?: Readonly<Record<string, number>> | null | undefined;
}

/** A client of Nomad, as the list with `resources=true` shows it. */
export interface NomadNode {
  readonly ID: string;
  readonly Name: string;
  readonly Address?: string | undefined;
  readonly Datacenter: string;
  readonly NodePool?: string | undefined;
  readonly Status: string;
  readonly SchedulingEligibility: string;
  readonly Drain: boolean;
  readonly Version?: string | undefined;
  readonly Drivers?: Readonly<Record<string, { readonly Detected: boolean; readonly Healthy: boolean }>> | null | undefined;
  readonly NodeResources?:
    | {
        readonly Cpu?: { readonly CpuShares?: number | undefined; readonly TotalCpuCores?: number | undefined } | undefined;
        readonly Memory?: { readonly MemoryMB?: number | undefined } | undefined;
        readonly Disk?: { readonly DiskMB?: number | undefined } | undefined;
        readonly Devices?:
          | readonly {
              readonly Vendor?: string | undefined;
              readonly Type?: string | undefined;
              readonly Name?: string | undefined;
              readonly Instances?: readonly unknown[] | null | undefined;
            }[]
          | null
          | undefined;
      }
    | null
    | undefined;
  readonly ReservedResources?:
    | {
        readonly Cpu?: { readonly CpuShares?: number | undefined } | undefined;
        readonly Memory?: { readonly MemoryMB?: number | undefined } | undefined;
        readonly Disk?: { readonly DiskMB?: number | undefined } | undefined;
      }
    | null
    | undefined;
}

/** A variable: items that only the tasks of its path may read. */
export interface NomadVariable {
  readonly Path: string;
  readonly Items: Readonly<Record<string, string>>;
}

/** What an allocation uses. */
export interface AllocationStats {
  readonly Tasks?: Readonly<Record<string, { readonly ResourceUsage?: ResourceUsage | null | undefined }>> | null | undefined;
}

/** Figures of one task. */
export interface ResourceUsage {
  readonly CpuStats?: { readonly TotalTicks?: number | undefined; readonly Percent?: number | undefined } | null | undefined;
  readonly MemoryStats?:
    | {
        readonly RSS?: number | undefined;
        readonly Cache?: number | undefined;
        readonly Usage?: number | undefined;
        readonly Measured?: readonly string[] | null | undefined;
      }
    | null
    | undefined;
}

/** An event of the stream. What its payload holds is read once it is known to be of a pod. */
export interface NomadEvent {
  readonly Topic: string;
  readonly Type: string;
  readonly Key: string;
  /** Absent for what has no namespace, such as a client. */
  readonly Namespace?: string | undefined;
  readonly Payload?: { readonly Allocation?: unknown; readonly Evaluation?: unknown } | null | undefined;
}

/** Answer to the registration of a job. */
export interface RegisterAnswer {
  readonly JobModifyIndex: number;
  readonly Warnings?: string | null | undefined;
}

/** A variable in a list, without its items. */
export interface VariableStub {
  readonly Path: string;
  readonly ModifyIndex: number;
}
