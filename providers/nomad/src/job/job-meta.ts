import { problemOf, type Owner, type PodRef } from "@virtual-kubelet/core";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import type { JobStub } from "../api/types.ts";
import { jobIdOf } from "./job-id.ts";
import type { PodShape } from "./pod-shape.ts";

/** Version of the meta that this release writes, and the only one that it reads. The README's table tells what later releases read. */
const metaVersion = 1;

const versionSchema = z.object({ version: z.int() });

const containerSchema = z.object({
  name: z.string(),
  image: z.string(),
  role: z.enum(["init", "sidecar", "main"]),
  probes: z.array(z.enum(["startup", "readiness", "liveness"])).optional(),
});

const shapeSchema: z.ZodType<Omit<PodShape, "ref" | "owner">> = z.object({
  restartPolicy: z.enum(["Always", "OnFailure", "Never"]),
  containers: z.array(containerSchema).min(1),
  graceSeconds: z.number().nonnegative(),
  driver: z.enum(["docker", "exec", "raw_exec"]),
  network: z.string(),
  variables: z.array(z.string()),
  fileVolumes: z.array(z.object({ name: z.string(), confidential: z.boolean() })),
});

/** Start of a pod that a job stands for. The job of a pod whose containers cannot be started is registered again. */
export interface PodAttempt {
  /** Number of starts in a row that failed before. */
  readonly failures: number;
  /** Allocations created up to this index belong to earlier starts; 0 for the first start. */
  readonly after: number;
  /** Restarts of containers in earlier starts, by name. */
  readonly restarts: Readonly<Record<string, number>>;
}

/** The first start of a pod. */
export const firstAttempt: PodAttempt = { failures: 0, after: 0, restarts: {} };

const attemptSchema: z.ZodType<PodAttempt> = z.object({
  failures: z.int().nonnegative(),
  after: z.int().nonnegative(),
  restarts: z.record(z.string(), z.int().nonnegative()),
});

/** Relation of a job to the node, by its id and meta. */
export type JobMeaning =
  | { readonly kind: "pod"; readonly shape: PodShape; readonly attempt: PodAttempt }
  /** A job that is not a pod of the node. `why`: how a copy differs from the pod that its meta names. */
  | { readonly kind: "foreign"; readonly why: string | undefined }
  /** A pod of the node whose meta cannot be read. */
  | { readonly kind: "unreadable"; readonly why: string };

/** The meta of a job at a pod's first start. It never changes while the pod runs, because Nomad would then restart the pod. */
export function metaOf({ ref, owner, ...rest }: PodShape): Readonly<Record<string, string>> {
  return {
    "vk.cluster": owner.clusterId,
    "vk.node": owner.nodeName,
    "vk.namespace": ref.namespace,
    "vk.pod": ref.name,
    "vk.uid": ref.uid,
    "vk.shape": withoutInterpolation(JSON.stringify({ version: metaVersion, ...rest })),
  };
}

/** JSON that Nomad does not interpolate before it passes the meta to the job's tasks. An image may be named `${…}`. */
function withoutInterpolation(json: string): string {
  return json.replaceAll("${", String.raw`\u0024{`);
}

/** Entry of the job's meta for a start after the first. A changed entry makes Nomad restart the pod. */
export function attemptMeta(attempt: PodAttempt): Readonly<Record<string, string>> {
  return { "vk.attempt": JSON.stringify({ version: metaVersion, ...attempt }) };
}

/** Nomad's namespace of a pod's job. */
export type NamespaceOf = (pod: Pick<PodRef, "namespace">) => string;

/**
 * Distinguishes a node's pods from other jobs. The id decides, because a copy of a job has the same meta; and the namespace, because an
 * id is unique only within a namespace.
 */
export function readJobMeta(
  { ID, Namespace, Meta }: Pick<JobStub, "ID" | "Namespace" | "Meta">,
  owner: Owner,
  namespaceOf: NamespaceOf,
): JobMeaning {
  const uid = Meta?.["vk.uid"];
  if (!Meta || uid === undefined) return { kind: "foreign", why: undefined };
  const ref = { namespace: Meta["vk.namespace"] ?? "", name: Meta["vk.pod"] ?? "", uid };
  const own = jobIdOf(owner, uid);
  if (ID !== own) return { kind: "foreign", why: `its meta is that of pod ${ref.namespace}/${ref.name}, whose job is ${own}` };
  const home = namespaceOf(ref);
  if (Namespace !== home)
    return { kind: "foreign", why: `it is in namespace ${Namespace} of Nomad, and pods of ${ref.namespace} run in ${home}` };
  try {
    const shape = { ...readEntry("vk.shape", Meta["vk.shape"] ?? "", shapeSchema), ref, owner };
    const attempt = Meta["vk.attempt"];
    return { kind: "pod", shape, attempt: attempt === undefined ? firstAttempt : readEntry("vk.attempt", attempt, attemptSchema) };
  } catch (error) {
    return { kind: "unreadable", why: messageOf(error) };
  }
}

/** @throws InvalidInputError that says what is wrong with it */
function readEntry<T>(key: string, text: string, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidInputError(`its meta ${key} is not JSON; somebody has changed it`);
  }
  const version = versionSchema.safeParse(value).data?.version;
  if (version !== metaVersion)
    throw new InvalidInputError(
      `its meta ${key} is of version ${version ?? "unknown"}, and this release reads version ${metaVersion}; run the release that wrote it`,
    );
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new InvalidInputError(`its meta ${key} is not as the provider writes it: ${problemOf(error)}; somebody has changed it`);
}
