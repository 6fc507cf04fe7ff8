import { z } from "zod";
import type { EcsFailure, EcsTask, ExecSession } from "./ecs-objects.ts";

const text = z.string().optional();
const time = z
  .date()
  .optional()
  .transform((date) => (date === undefined || Number.isNaN(date.getTime()) ? undefined : date.toISOString()));

const container = z.object({
  name: z.string(),
  image: text,
  imageDigest: text,
  runtimeId: text,
  lastStatus: text,
  exitCode: z.number().int().optional(),
  reason: text,
  healthStatus: text,
  managedAgents: z.array(z.object({ name: text, lastStatus: text, reason: text })).optional(),
});

/** Reads a task of DescribeTasks and RunTask. */
export const taskSchema: z.ZodType<EcsTask> = z.object({
  taskArn: z.string().min(1),
  taskDefinitionArn: text,
  lastStatus: z.string(),
  desiredStatus: text,
  stopCode: text,
  stoppedReason: text,
  startedBy: text,
  group: text,
  enableExecuteCommand: z.boolean().optional(),
  createdAt: time,
  pullStartedAt: time,
  pullStoppedAt: time,
  startedAt: time,
  executionStoppedAt: time,
  stoppedAt: time,
  containers: z.array(container).default([]),
  attachments: z
    .array(z.object({ type: text, status: text, details: z.array(z.object({ name: text, value: text })).default([]) }))
    .default([]),
  tags: z
    .array(z.object({ key: z.string(), value: z.string().default("") }))
    .default([])
    .transform((tags): Readonly<Record<string, string>> => Object.fromEntries(tags.map(({ key, value }) => [key, value]))),
});

/** Reads a failure in a successful answer. */
export const failureSchema: z.ZodType<EcsFailure> = z.object({ arn: text, reason: text, detail: text });

/** Reads a page of a list. Without a token, or with an empty one, it is the last page. */
export const pageSchema: z.ZodType<{ readonly entries: readonly string[]; readonly nextToken?: string | null | undefined }> = z.object({
  entries: z.array(z.string().min(1)),
  nextToken: z.string().nullish(),
});

/** Reads the session of ExecuteCommand. */
export const sessionSchema: z.ZodType<ExecSession> = z.object({
  sessionId: z.string().min(1),
  streamUrl: z.string().regex(/^wss?:\/\//),
  tokenValue: z.string().min(1),
});

/** Reads a page of log events. */
export const logPageSchema: z.ZodType<{
  readonly events: readonly { readonly timestamp?: number | undefined; readonly message: string }[];
  readonly nextForwardToken?: string | undefined;
}> = z.object({
  events: z.array(z.object({ timestamp: z.number().optional(), message: z.string().default("") })),
  nextForwardToken: text,
});
