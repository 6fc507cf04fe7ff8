import type { Owner } from "@virtual-kubelet/core";
import { jobIdOf } from "./job-id.ts";
import type { PodShape } from "./pod-shape.ts";

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
    "vk.shape": JSON.stringify(rest),
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
  try {
    return { kind: "pod", shape: { ...(JSON.parse(Meta["vk.shape"] ?? "") as Omit<PodShape, "ref" | "owner">), ref, owner } };
  } catch {
    return { kind: "unreadable", why: "its meta vk.shape is no JSON; somebody has changed it" };
  }
}
