import { isIP } from "node:net";
import type { PodLabels } from "../pod/pod-labels.ts";
import type { ObjectKind } from "../pod/pod-mode.ts";
import type { ZunAddresses, ZunCapsule, ZunContainer } from "../zun/zun-objects.ts";

/** A pod's container or capsule, as Zun showed it last. */
export interface ZunObject {
  readonly kind: ObjectKind;
  readonly uuid: string;
  readonly labels: PodLabels;
  /** Zun's word: `Creating`, `Running`, `Stopped`, … */
  readonly status: string;
  readonly reason: string;
  readonly taskState: string;
  readonly detail: string;
  readonly addresses: ZunAddresses;
  readonly createdAt: string | undefined;
  /** Containers in the order of the spec; one for a plain container, perhaps none yet for a capsule. */
  readonly members: readonly ObservedMember[];
  readonly initMembers: readonly ObservedMember[];
  readonly interactive: boolean;
  /** Zun's name of the object. Zun does not hold names unique. */
  readonly name: string;
}

/** Stands in place of Zun's word for the state of an object that cannot be read. */
export const unreadStatus = "Unread";

/** One container of a pod, as Zun said it last. */
export interface ObservedMember {
  readonly uuid: string;
  readonly image: string;
  readonly status: string;
  readonly reason: string;
  readonly detail: string;
  readonly taskState: string;
}

/** What Zun said of a plain container, with the labels that were read from it. */
export function observeContainer(container: ZunContainer, labels: PodLabels): ZunObject {
  const member = toMember(container);
  return {
    kind: "container",
    uuid: container.uuid,
    labels,
    status: member.status,
    reason: member.reason,
    taskState: member.taskState,
    detail: member.detail,
    addresses: container.addresses ?? {},
    createdAt: container.created_at ?? undefined,
    members: [member],
    initMembers: [],
    interactive: container.interactive === true,
    name: container.name ?? "",
  };
}

/** What Zun said of a capsule. */
export function observeCapsule(capsule: ZunCapsule, labels: PodLabels): ZunObject {
  return {
    kind: "capsule",
    uuid: capsule.uuid,
    labels,
    status: capsule.status ?? "Unknown",
    reason: capsule.status_reason ?? "",
    taskState: "",
    detail: "",
    addresses: capsule.addresses ?? {},
    createdAt: capsule.created_at ?? undefined,
    members: (capsule.containers ?? []).map(toMember),
    initMembers: (capsule.init_containers ?? []).map(toMember),
    interactive: false,
    name: capsule.name ?? "",
  };
}

function toMember(container: ZunContainer): ObservedMember {
  return {
    uuid: container.uuid,
    image: container.image ?? "",
    status: container.status ?? "Unknown",
    reason: container.status_reason ?? "",
    detail: container.status_detail ?? "",
    taskState: container.task_state ?? "",
  };
}

/** Addresses of a pod: IPv4 first, as Kubernetes has its main one. */
export function addressesOf({ addresses }: ZunObject): readonly string[] {
  const all = Object.values(addresses).flat();
  const of = (version: number): string[] => all.flatMap(({ addr, version: is }) => (addr && (is ?? isIP(addr)) === version ? [addr] : []));
  return [...new Set([...of(4), ...of(6)])];
}

/** Ids of a pod's ports in Neutron. */
export function portsOf({ addresses }: ZunObject): readonly string[] {
  return [...new Set(Object.values(addresses).flatMap((list) => list.flatMap(({ port }) => port ?? [])))];
}
