import { z } from "zod";
import type {
  Allocation,
  AllocationStats,
  Evaluation,
  JobStub,
  NomadEvent,
  NomadNode,
  RegisterAnswer,
  TaskEvent,
  TaskState,
  VariableStub,
} from "./types.ts";

// Unknown fields are dropped, so that later releases of Nomad may add some. A known field of another type makes an object unreadable.

/** The latest time that a date can hold, in nanoseconds. */
const maxNanoseconds = 8.64e21;

const nanoseconds = z.number().min(-maxNanoseconds).max(maxNanoseconds);
const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)), "expected a time of RFC 3339");
const texts = z.record(z.string(), z.string()).nullish();
const amount = z.number().optional();

const taskEventSchema: z.ZodType<TaskEvent> = z.object({
  Type: z.string(),
  Time: nanoseconds,
  ExitCode: z.int().optional(),
  Signal: z.number().optional(),
  DisplayMessage: z.string().optional(),
  Message: z.string().optional(),
  Details: texts,
});

const taskStateSchema: z.ZodType<TaskState> = z.object({
  State: z.enum(["pending", "running", "dead"]),
  Failed: z.boolean(),
  Restarts: z.int(),
  StartedAt: time.nullish(),
  FinishedAt: time.nullish(),
  Events: z.array(taskEventSchema).nullish(),
});

/** An allocation from a list, an event or a lookup. */
export const allocationSchema: z.ZodType<Allocation> = z.object({
  ID: z.string(),
  JobID: z.string(),
  Namespace: z.string(),
  NodeID: z.string(),
  NodeName: z.string().optional(),
  CreateIndex: z.number(),
  ModifyIndex: z.number(),
  CreateTime: nanoseconds,
  ClientStatus: z.enum(["pending", "running", "complete", "failed", "lost", "unknown"]),
  ClientDescription: z.string().optional(),
  DesiredStatus: z.string(),
  DesiredDescription: z.string().optional(),
  DesiredTransition: z.object({ Migrate: z.boolean().nullish(), NoShutdownDelay: z.boolean().nullish() }).nullish(),
  PreemptedByAllocation: z.string().optional(),
  TaskStates: z.record(z.string(), taskStateSchema).nullish(),
  AllocatedResources: z
    .object({
      Shared: z
        .object({
          Ports: z.array(z.object({ Label: z.string(), Value: z.int(), To: z.int().optional(), HostIP: z.string().optional() })).nullish(),
        })
        .optional(),
    })
    .nullish(),
  NetworkStatus: z.object({ Address: z.string().optional(), AddressIPv6: z.string().optional() }).nullish(),
});

/** A job from a list or a lookup. */
export const jobSchema: z.ZodType<JobStub> = z.object({
  ID: z.string(),
  Namespace: z.string(),
  Meta: texts,
  Stop: z.boolean().optional(),
  CreateIndex: z.number(),
  JobModifyIndex: z.number(),
  SubmitTime: nanoseconds.optional(),
});

const counts = z.record(z.string(), z.number()).nullish();

/** An evaluation from a list or an event. */
export const evaluationSchema: z.ZodType<Evaluation> = z.object({
  ID: z.string(),
  JobID: z.string(),
  Namespace: z.string(),
  Status: z.string(),
  FailedTGAllocs: z
    .record(
      z.string(),
      z.object({
        NodesEvaluated: amount,
        NodesFiltered: amount,
        NodesExhausted: amount,
        ConstraintFiltered: counts,
        DimensionExhausted: counts,
      }),
    )
    .nullish(),
});

/** A client of Nomad. */
export const nodeSchema: z.ZodType<NomadNode> = z.object({
  ID: z.string(),
  Name: z.string(),
  Address: z.string().optional(),
  Datacenter: z.string(),
  NodePool: z.string().optional(),
  Status: z.string(),
  SchedulingEligibility: z.string(),
  Drain: z.boolean(),
  Version: z.string().optional(),
  Drivers: z.record(z.string(), z.object({ Detected: z.boolean(), Healthy: z.boolean() })).nullish(),
  NodeResources: z
    .object({
      Cpu: z.object({ CpuShares: amount, TotalCpuCores: amount }).optional(),
      Memory: z.object({ MemoryMB: amount }).optional(),
      Disk: z.object({ DiskMB: amount }).optional(),
      Devices: z
        .array(
          z.object({
            Vendor: z.string().optional(),
            Type: z.string().optional(),
            Name: z.string().optional(),
            Instances: z.array(z.unknown()).nullish(),
          }),
        )
        .nullish(),
    })
    .nullish(),
  ReservedResources: z
    .object({
      Cpu: z.object({ CpuShares: amount }).optional(),
      Memory: z.object({ MemoryMB: amount }).optional(),
      Disk: z.object({ DiskMB: amount }).optional(),
    })
    .nullish(),
});

interface Oversubscription {
  readonly MemoryOversubscriptionEnabled?: boolean | null | undefined;
}

const oversubscription: z.ZodType<Oversubscription | null | undefined> = z
  .object({ MemoryOversubscriptionEnabled: z.boolean().nullish() })
  .nullish();

/** Settings of a node pool that override {@link schedulerSchema}. */
export const nodePoolSchema: z.ZodType<{ readonly SchedulerConfiguration?: Oversubscription | null | undefined }> = z.object({
  SchedulerConfiguration: oversubscription,
});

/** How Nomad schedules. */
export const schedulerSchema: z.ZodType<{ readonly SchedulerConfig?: Oversubscription | null | undefined }> = z.object({
  SchedulerConfig: oversubscription,
});

/** What an allocation uses. */
export const statsSchema: z.ZodType<AllocationStats> = z.object({
  Tasks: z
    .record(
      z.string(),
      z.object({
        ResourceUsage: z
          .object({
            CpuStats: z.object({ TotalTicks: amount, Percent: amount }).nullish(),
            MemoryStats: z.object({ RSS: amount, Cache: amount, Usage: amount, Measured: z.array(z.string()).nullish() }).nullish(),
          })
          .nullish(),
      }),
    )
    .nullish(),
});

/** A line of the event stream, whose events are parsed one by one. */
export const frameSchema: z.ZodType<{ readonly Events?: readonly unknown[] | null | undefined }> = z.object({
  Events: z.array(z.unknown()).nullish(),
});

/** An event without the objects in its payload, because those of other jobs are never parsed. */
export const eventSchema: z.ZodType<NomadEvent> = z.object({
  Topic: z.string(),
  Type: z.string(),
  Key: z.string(),
  Namespace: z.string().optional(),
  Payload: z.object({ Allocation: z.unknown().optional(), Evaluation: z.unknown().optional() }).nullish(),
});

/** Nomad's answer to a registration. */
export const registerSchema: z.ZodType<RegisterAnswer> = z.object({ JobModifyIndex: z.number(), Warnings: z.string().nullish() });

/** A variable in a list. */
export const variableSchema: z.ZodType<VariableStub> = z.object({ Path: z.string(), ModifyIndex: z.number() });
