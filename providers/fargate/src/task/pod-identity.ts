import type { Owner } from "@virtual-kubelet/core";
import { commonTagLimits, readTags, writeTags, type IdentityReading, type PodIdentity, type TagLimits } from "@virtual-kubelet/remote-pods";
import type { Tag } from "@aws-sdk/client-ecs";
import { createHash } from "node:crypto";

/** Maximum length of the group of a task. */
const maxGroupLength = 255;
const groupPrefix = "pod:";

/** Source: Amazon ECS Developer Guide, "Tag restrictions". */
const tagLimits: TagLimits = { ...commonTagLimits, valuePattern: /[\p{L}\p{Z}\p{N}_.:/=+\-@]*/u };

/** The parts of a task from which its identity is read. */
export interface IdentifiedTask {
  readonly tags: Readonly<Record<string, string>>;
  readonly startedBy?: string | undefined;
  readonly group?: string | undefined;
}

/** Returns a short hash of a node, for names at the back end. */
export function ownerHash({ clusterId, nodeName }: Owner): string {
  return createHash("sha256")
    .update(JSON.stringify([clusterId, nodeName]))
    .digest("hex")
    .slice(0, 12);
}

/** Returns the text by which the node's tasks are listed: 128 characters at most, letters, digits, `-`, `_` and `/` only. */
export function startedByOf(owner: Owner): string {
  return `virtual-kubelet/${owner.nodeName.replaceAll(/[^\w-]/g, "-").slice(0, 90)}/${ownerHash(owner)}`;
}

/**
 * Returns a task's group, which repeats its identity because ECS removes the tags of a task that is stopped. A pod whose names are too long for it
 * has only its tags.
 */
export function groupOf({ ref: { namespace, name, uid }, attempt }: PodIdentity): string {
  const group = `${groupPrefix}${namespace}/${name}/${uid}/${attempt}`;
  return group.length <= maxGroupLength ? group : `${groupPrefix}${uid}`;
}

/** Writes a task's tags. @throws InvalidInputError for a name that tags cannot hold */
export function tagsOf(identity: PodIdentity): Tag[] {
  return toList(writeTags(identity, {}, tagLimits));
}

/** Writes the tags of what belongs to the node and to no single pod. */
export function ownerTagsOf(owner: Owner): Tag[] {
  const tags = writeTags({ ref: { namespace: "-", name: "-", uid: "-" }, owner, attempt: 0 }, {}, tagLimits);
  return toList(Object.fromEntries(Object.entries(tags).filter(([key]) => ownerKeys.has(key))));
}

/** Whether something with these tags belongs to the node. */
export function hasOwnerTags(tags: Readonly<Record<string, string>>, owner: Owner): boolean {
  return ownerTagsOf(owner).every(({ key, value }) => key !== undefined && tags[key] === value);
}

/**
 * Reads the identity of a task. `startedBy` and the group decide, because nobody can change them; tags, which anybody can change and copy, and which
 * ECS removes from a task that is stopped, only serve pods whose names are too long for the group. Pure.
 */
export function identityOf({ tags, startedBy, group = "" }: IdentifiedTask, owner: Owner): IdentityReading {
  if (startedBy !== startedByOf(owner)) return { kind: "foreign" };
  const [, namespace = "", name = "", uid = "", attempt = ""] = /^pod:([^/]+)\/([^/]+)\/([^/]+)\/(\d+)$/.exec(group) ?? [];
  if (uid !== "") return { kind: "pod", identity: { ref: { namespace, name, uid }, owner, attempt: Number(attempt) } };
  if (Object.keys(tags).length > 0) return readTags(tags, owner, tagLimits);
  return { kind: "unreadable", why: `it has no tags, and its group is ${JSON.stringify(group)}` };
}

const ownerKeys: ReadonlySet<string> = new Set(["vk.managed-by", "vk.cluster", "vk.node"]);

function toList(tags: Readonly<Record<string, string>>): Tag[] {
  return Object.entries(tags).map(([key, value]) => ({ key, value }));
}
