import type { Owner } from "@virtual-kubelet/core";
import { z } from "zod";
import { problemOf } from "../api/object-reader.ts";
import { jobIdOf } from "./job-id.ts";
import type { PodShape } from "./pod-shape.ts";

/** Version of the meta that this release writes, and the only one that it reads. The README's table tells what later releases read. */
const metaVersion = 1;

const versionSchema = z.object({ version: z.int() });

const shapeSchema: z.ZodType<Omit<PodShape, "ref" | "owner">> = z.object({
  restartPolicy: z.enum(["Always", "OnFailure", "Never"]),
  containers: z.array(z.object({ name: z.string(), image: z.string(), role: z.enum(["init", "sidecar", "main"]) })).min(1),
  graceSeconds: z.number().nonnegative(),
  network: z.string(),
  variables: z.array(z.string()),
  fileVolumes: z.array(z.object({ name: z.string(), confidential: z.boolean() })),
});

/** What a job is to a node, by its id and its meta. */
export type JobMeaning =
  | { readonly kind: "pod"; readonly shape: PodShape }
  /** A job that is no pod of the node. `why`: what tells a copy from the pod that its meta names. */
  | { readonly kind: "foreign"; readonly why: string | undefined }
  /** A pod of the node whose meta cannot be read. */
  | { readonly kind: "unreadable"; readonly why: string };

/** The job's meta. It never changes: Nomad would start the pod anew. */
export function metaOf({ ref, owner, ...rest }: PodShape): Readonly<Record<string, string>> {
  return {
    "vk.cluster": owner.clusterId,
    "vk.node": owner.nodeName,
    "vk.namespace": ref.namespace,
    "vk.pod": ref.name,
    "vk.uid": ref.uid,
    "vk.shape": JSON.stringify({ version: metaVersion, ...rest }),
  };
}

/** Tells a node's pods from other jobs. The id decides, because whoever copies a job copies its meta, too. */
export function readJobMeta(
  { ID, Meta }: { readonly ID: string; readonly Meta?: Readonly<Record<string, string>> | null | undefined },
  owner: Owner,
): JobMeaning {
  const uid = Meta?.["vk.uid"];
  if (!Meta || uid === undefined) return { kind: "foreign", why: undefined };
  const ref = { namespace: Meta["vk.namespace"] ?? "", name: Meta["vk.pod"] ?? "", uid };
  const own = jobIdOf(owner, uid);
  if (ID !== own) return { kind: "foreign", why: `its meta is that of pod ${ref.namespace}/${ref.name}, whose job is ${own}` };
  const shape = readShape(Meta["vk.shape"]);
  return typeof shape === "string"
    ? { kind: "unreadable", why: `its meta vk.shape ${shape}` }
    : { kind: "pod", shape: { ...shape, ref, owner } };
}

/** @returns the shape, or what is wrong with it */
function readShape(text = ""): Omit<PodShape, "ref" | "owner"> | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "is no JSON; somebody has changed it";
  }
  const version = versionSchema.safeParse(value).data?.version;
  if (version !== metaVersion)
    return `is of version ${version ?? "unknown"}, and this release reads version ${metaVersion}; run the release that wrote it`;
  const { data, error } = shapeSchema.safeParse(value);
  return data ?? `is not as the provider writes it: ${problemOf(error)}; somebody has changed it`;
}
