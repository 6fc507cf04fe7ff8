import type { DeepReadonly, Owner, Pod, PodRef } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ProbeKind } from "@virtual-kubelet/pod-runtime/probes";

/** What the labels of a container or capsule say of its pod. They cannot be changed later. */
export interface PodLabels {
  readonly ref: PodRef;
  readonly owner: Owner;
  /** Names in the order of the spec: Zun renames a capsule's members, and keeps their order. */
  readonly containers: readonly string[];
  readonly initContainers: readonly string[];
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** It has ports of its own, which are to be deleted after it. */
  readonly ownsPorts: boolean;
  /** Security groups that its port is to be in: a capsule cannot be made with them. */
  readonly securityGroups: readonly string[];
  /** The floating IP it is to have: `new`, or an address that the project has. */
  readonly floatingIp?: string | undefined;
  /** Which probes its containers have, by their names. */
  readonly probes?: Readonly<Record<string, readonly ProbeKind[]>> | undefined;
}

const domain = "virtual-kubelet.io";
const managedBy = "virtual-kubelet-provider-zun";

/**
 * The labels. The first six are those of the original provider, whose pods a cloud's tools may know.
 * Source: virtual-kubelet/openstack-zun zun.go (`getPodFromCapsule`).
 */
export function toLabels(labels: PodLabels, createdAt: string): Record<string, string> {
  const { ref, owner, containers, initContainers, restartPolicy, ownsPorts, securityGroups, floatingIp, probes = {} } = labels;
  const probed = Object.entries(probes).map(([name, kinds]) => `${name}:${kinds.join("+")}`);
  return {
    PodName: ref.name,
    Namespace: ref.namespace,
    UID: ref.uid,
    NodeName: owner.nodeName,
    ClusterName: owner.clusterId,
    CreationTimestamp: createdAt,
    [`${domain}/managed-by`]: managedBy,
    [`${domain}/containers`]: containers.join(","),
    ...(initContainers.length > 0 && { [`${domain}/init-containers`]: initContainers.join(",") }),
    [`${domain}/restart-policy`]: restartPolicy,
    ...(ownsPorts && { [`${domain}/owns-ports`]: "true" }),
    ...(securityGroups.length > 0 && { [`${domain}/security-groups`]: securityGroups.join(",") }),
    ...(floatingIp !== undefined && { [`${domain}/floating-ip`]: floatingIp }),
    ...(probed.length > 0 && { [`${domain}/probes`]: probed.join(",") }),
  };
}

/** Reads the labels; `undefined` for what is none of ours. */
export function readLabels(labels: Readonly<Record<string, string>> | null | undefined): PodLabels | undefined {
  if (labels?.[`${domain}/managed-by`] !== managedBy) return undefined;
  const { PodName: name, Namespace: namespace, UID: uid, NodeName: nodeName, ClusterName: clusterId = "" } = labels;
  if (!name || !namespace || !uid || !nodeName) return undefined;
  const policy = labels[`${domain}/restart-policy`];
  return {
    ref: { namespace, name, uid },
    owner: { clusterId, nodeName },
    containers: split(labels[`${domain}/containers`]),
    initContainers: split(labels[`${domain}/init-containers`]),
    restartPolicy: policy === "OnFailure" || policy === "Never" ? policy : "Always",
    ownsPorts: labels[`${domain}/owns-ports`] === "true",
    securityGroups: split(labels[`${domain}/security-groups`]),
    floatingIp: labels[`${domain}/floating-ip`],
    probes: readProbes(labels[`${domain}/probes`]),
  };
}

/** Which probes a pod's containers have, as labels keep it; nothing for a pod without any. */
export function probesOf({ spec }: DeepReadonly<Pod>): Pick<PodLabels, "probes"> {
  const probes = (spec?.containers ?? []).flatMap(({ name, startupProbe, readinessProbe, livenessProbe }): [string, ProbeKind[]][] => {
    const kinds = Object.entries({ startup: startupProbe, readiness: readinessProbe, liveness: livenessProbe });
    const asked = kinds.flatMap(([kind, probe]) => (probe ? [kind as ProbeKind] : []));
    return asked.length > 0 ? [[name, asked]] : [];
  });
  return probes.length > 0 ? { probes: Object.fromEntries(probes) } : {};
}

function readProbes(text: string | undefined): PodLabels["probes"] {
  const kinds: readonly ProbeKind[] = ["startup", "readiness", "liveness"];
  const entries = split(text).map((entry): [string, ProbeKind[]] => {
    const [name = "", list = ""] = entry.split(":");
    return [name, kinds.filter((kind) => list.split("+").includes(kind))];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

/** What names a pod. @throws InvalidInputError for one without a UID: the API server gives every pod one */
export function refOf({ metadata }: DeepReadonly<Pod>): PodRef {
  const { namespace = "default", name = "", uid = "" } = metadata ?? {};
  if (name === "" || uid === "") throw new InvalidInputError(`read pod ${namespace}/${name}: it has no name or no UID`);
  return { namespace, name, uid };
}

/** Zun's name for the pod: for people, for names are not unique in Zun. At most 255 characters of those it takes. */
export function objectName({ namespace, name, uid }: PodRef): string {
  return `${`${namespace}-${name}`.slice(0, 240)}-${uid.slice(0, 8)}`;
}

/** Name of the pod's ports in Neutron. */
export function portName({ uid }: PodRef): string {
  return `vk-${uid}`;
}

/** Description of a node's ports and floating IPs in Neutron: by this they are found again. */
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
