import type { PodRef } from "@virtual-kubelet/core";
import { isIP } from "node:net";
import type { PodLabels } from "../pod/pod-labels.ts";
import type { ObjectKind } from "../pod/pod-mode.ts";
import type { ZunAddresses, ZunCapsule, ZunContainer } from "../zun/zun-objects.ts";

/** A container or capsule of ours, as Zun said it last. */
export interface Observation {
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

/** An object in a list that is a pod of the node, or may be one, and that cannot be read. */
export interface UnreadObject {
  readonly kind: ObjectKind;
  /** `undefined` where not even that can be read. */
  readonly uuid: string | undefined;
  /** The pod; `undefined` where nothing tells which it is, nor whether it is the node's. */
  readonly ref: PodRef | undefined;
  /** As they were read; `undefined` where they are what cannot be. */
  readonly labels: PodLabels | undefined;
  readonly name: string | undefined;
  readonly why: string;
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
export function observeContainer(container: ZunContainer, labels: PodLabels): Observation {
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

/** An object of which no more is known than which pod it is. */
export function observeUnread(kind: ObjectKind, uuid: string, labels: PodLabels): Observation {
  const nothing = { reason: "", taskState: "", detail: "", addresses: {}, createdAt: undefined, interactive: false, name: "" };
  return { kind, uuid, labels, status: unreadStatus, ...nothing, members: [], initMembers: [] };
}

/** What Zun said of a capsule. */
export function observeCapsule(capsule: ZunCapsule, labels: PodLabels): Observation {
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
export function addressesOf({ addresses }: Observation): readonly string[] {
  const all = Object.values(addresses).flat();
  const of = (version: number): string[] => all.flatMap(({ addr, version: is }) => (addr && (is ?? isIP(addr)) === version ? [addr] : []));
  return [...new Set([...of(4), ...of(6)])];
}

/** Ids of a pod's ports in Neutron. */
export function portsOf({ addresses }: Observation): readonly string[] {
  return [...new Set(Object.values(addresses).flatMap((list) => list.flatMap(({ port }) => port ?? [])))];
}

/** The first stays where one pod has several: a create whose answer was lost may have come through. What Zun tells no age of comes last. */
export function oldestFirst(observations: readonly Observation[]): readonly Observation[] {
  const key = ({ createdAt = "unknown", uuid }: Observation): string => `${createdAt} ${uuid}`;
  return observations.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
