import { problemOf, type DeepReadonly, type Owner, type Pod, type PodRef } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isIP } from "node:net";
import { z } from "zod";

/** Facts about a pod in the labels of its container or capsule. Labels cannot be changed later. */
export interface PodLabels {
  readonly ref: PodRef;
  readonly owner: Owner;
  /** Container names in the order of the spec. Zun renames the containers of a capsule, but keeps their order. */
  readonly containers: readonly string[];
  readonly initContainers: readonly string[];
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** Whether the pod has its own ports, which must be deleted after it. */
  readonly ownsPorts: boolean;
  /** Security groups to set on the port, because a capsule cannot be created with them. */
  readonly securityGroups: readonly string[];
  /** Wanted floating IP: `new`, or an address of the project. */
  readonly floatingIp?: string | undefined;
  /** As `PodIdentity.attempt` of remote-pods. */
  readonly attempt: number;
}

const domain = "virtual-kubelet.io";
const managedBy = "virtual-kubelet-provider-zun";

/** Version of the labels that this release writes and reads. Labels without a version have version 1, too. */
const labelsVersion = "1";

/**
 * Creates the labels. The first six are those of the original provider, because tools of a cloud may use them.
 * Source: virtual-kubelet/openstack-zun zun.go (`getPodFromCapsule`).
 */
export function toLabels(labels: PodLabels, createdAt: string): Record<string, string> {
  const { ref, owner, containers, initContainers, restartPolicy, ownsPorts, securityGroups, floatingIp, attempt } = labels;
  return {
    PodName: ref.name,
    Namespace: ref.namespace,
    UID: ref.uid,
    NodeName: owner.nodeName,
    ClusterName: owner.clusterId,
    CreationTimestamp: createdAt,
    [`${domain}/managed-by`]: managedBy,
    [`${domain}/version`]: labelsVersion,
    [`${domain}/containers`]: containers.join(","),
    ...(initContainers.length > 0 && { [`${domain}/init-containers`]: initContainers.join(",") }),
    [`${domain}/restart-policy`]: restartPolicy,
    ...(ownsPorts && { [`${domain}/owns-ports`]: "true" }),
    ...(securityGroups.length > 0 && { [`${domain}/security-groups`]: securityGroups.join(",") }),
    ...(floatingIp !== undefined && { [`${domain}/floating-ip`]: floatingIp }),
    ...(attempt > 0 && { [`${domain}/attempt`]: String(attempt) }),
  };
}

/** Relation of an object to a node, according to its labels. */
export type LabelsMeaning =
  | { readonly kind: "pod"; readonly labels: PodLabels }
  /** The object is not a pod of the node. */
  | { readonly kind: "foreign" }
  /** The object is, or may be, a pod of the node. `ref`: the pod, if it certainly belongs to the node and its labels can be read. */
  | { readonly kind: "unreadable"; readonly why: string; readonly ref?: PodRef };

const name = z.string().min(1).max(253);
const names = z
  .string()
  .regex(/^[a-z0-9.-]+(,[a-z0-9.-]+)*$/, "expected names of containers")
  .transform((text) => text.split(","));
const refSchema = z.object({ Namespace: name, PodName: name, UID: name.regex(/^\S+$/, "expected a UID") });
/** Labels in the provider's domain, by name without the domain. */
const ownSchema = z.object({
  version: z.literal(labelsVersion, `this release reads version ${labelsVersion}; run the release that wrote it`).optional(),
  containers: names,
  "init-containers": names.optional(),
  "restart-policy": z.enum(["Always", "OnFailure", "Never"]),
  "owns-ports": z.literal("true").optional(),
  "security-groups": z.string().optional(),
  "floating-ip": z
    .string()
    .refine((text) => text === "new" || isIP(text) !== 0, "expected new, or an IP address")
    .optional(),
  attempt: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, "expected a number from 1")
    .transform(Number)
    .optional(),
});

/** Reads an object's labels, in any form. Of objects of other nodes and other people, only the owner is read. */
export function readLabels(value: unknown, owner: Owner): LabelsMeaning {
  if (value === null) return { kind: "foreign" };
  const parsed = z.record(z.string(), z.unknown()).safeParse(value);
  if (!parsed.success) return { kind: "unreadable", why: "labels: expected an object; whose it is cannot be told" };
  const labels = parsed.data;
  const manager = labels[`${domain}/managed-by`];
  if (manager === undefined || (typeof manager === "string" && manager !== managedBy)) return { kind: "foreign" };
  const { NodeName: nodeName, ClusterName: clusterId = "" } = labels;
  const isOthers = (own: string, told: unknown): boolean => typeof told === "string" && told !== "" && told !== own;
  if (isOthers(owner.nodeName, nodeName) || (typeof clusterId === "string" && clusterId !== owner.clusterId)) return { kind: "foreign" };
  // Left out, because the core would delete a pod that is reported as the node's own as an orphan.
  if (manager !== managedBy || typeof nodeName !== "string" || nodeName === "" || typeof clusterId !== "string")
    return { kind: "unreadable", why: "labels: managed-by, NodeName and ClusterName: expected texts; whose it is cannot be told" };
  const ref = refSchema.safeParse(labels);
  const known = ref.success && {
    ref: { namespace: ref.data.Namespace, name: ref.data.PodName, uid: ref.data.UID },
  };
  const unreadable = (why: string): LabelsMeaning => ({ kind: "unreadable", why: `labels: ${why}`, ...known });
  if (!known) return unreadable(problemOf(ref.error as z.ZodError));
  const prefix = `${domain}/`;
  const rest = ownSchema.safeParse(
    Object.fromEntries(Object.entries(labels).flatMap(([key, each]) => (key.startsWith(prefix) ? [[key.slice(prefix.length), each]] : []))),
  );
  if (!rest.success) return unreadable(`${prefix}${problemOf(rest.error)}`);
  const { containers, attempt = 0 } = rest.data;
  return {
    kind: "pod",
    labels: {
      ...known,
      owner: { clusterId, nodeName },
      containers,
      initContainers: rest.data["init-containers"] ?? [],
      restartPolicy: rest.data["restart-policy"],
      ownsPorts: rest.data["owns-ports"] === "true",
      securityGroups: split(rest.data["security-groups"]),
      floatingIp: rest.data["floating-ip"],
      attempt,
    },
  };
}

/** Reference to a pod. @throws InvalidInputError for a pod without a UID, because the API server gives every pod a UID */
export function refOf({ metadata }: DeepReadonly<Pod>): PodRef {
  const { namespace = "default", name = "", uid = "" } = metadata ?? {};
  if (name === "" || uid === "") throw new InvalidInputError(`read pod ${namespace}/${name}: it has no name or no UID`);
  return { namespace, name, uid };
}

/** Name in Zun, only for people, because names are not unique in Zun. At most 255 of the allowed characters. */
export function objectName({ namespace, name, uid }: PodRef): string {
  return `${`${namespace}-${name}`.slice(0, 240)}-${uid.slice(0, 8)}`;
}

/** Name of the pod's ports in Neutron. */
export function portName({ uid }: PodRef): string {
  return `vk-${uid}`;
}

/** Description of a node's ports and floating IPs in Neutron, by which they are found later. */
export function ownerDescription({ clusterId, nodeName }: Owner): string {
  return `virtual-kubelet cluster=${clusterId} node=${nodeName}`;
}

/** Description of a pod's floating IP. */
export function floatingIpDescription(ref: PodRef, owner: Owner): string {
  return `${ownerDescription(owner)} pod=${ref.uid}`;
}

function split(text: string | undefined): string[] {
  return text === undefined || text === "" ? [] : text.split(",");
}
