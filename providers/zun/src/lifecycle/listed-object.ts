import { problemOf, type Owner } from "@virtual-kubelet/core";
import type { IdentityReading, ListedObject, PodIdentity } from "@virtual-kubelet/remote-pods";
import type { z } from "zod";
import { objectName, readLabels, type PodLabels } from "../pod/pod-labels.ts";
import type { ObjectKind } from "../pod/pod-mode.ts";
import { tryEndDetail } from "../status/status-detail.ts";
import { observeCapsule, observeContainer, type ZunObject } from "../status/zun-object.ts";
import { uuidOf } from "../zun/zun-api.ts";
import { capsuleSchema, containerSchema, identitySchema } from "../zun/zun-schemas.ts";

/** Id of an object, such as `capsule:UUID`. */
export function objectId(kind: ObjectKind, uuid: string): string {
  return `${kind}:${uuid}`;
}

/** Kind and UUID in an {@link objectId}. */
export function readObjectId(id: string): { readonly kind: ObjectKind; readonly uuid: string } {
  const [kind, uuid = ""] = id.split(":");
  return { kind: kind === "capsule" ? "capsule" : "container", uuid };
}

/** Identity of a pod's object. */
export function identityIn({ ref, owner, attempt }: PodLabels): PodIdentity {
  return { ref, owner, attempt };
}

/**
 * Reads an entry of Zun's lists, in any form. Zun refreshes its lists once a minute, so the entry has no description.
 *
 * @returns `undefined` for an object that is not a pod of the node, and for a deleted one
 */
export function readListed(
  kind: ObjectKind,
  value: unknown,
  owner: Owner,
): { readonly entry: ListedObject<ZunObject>; readonly labels?: PodLabels | undefined } | undefined {
  const uuid = uuidOf(value);
  const id = objectId(kind, uuid ?? "without a UUID");
  const unreadable = (why: string, ref?: PodIdentity["ref"]): { entry: ListedObject<ZunObject> } => ({
    entry: { id, identity: { kind: "unreadable", why, ...(ref && { ref }) } satisfies IdentityReading },
  });
  if (typeof value !== "object" || value === null) return unreadable("it is no object");
  const { name, labels } = identitySchema.safeParse(value).data ?? {};
  const meaning = readLabels(labels, owner);
  if (meaning.kind === "foreign") return undefined;
  if (meaning.kind === "unreadable") return unreadable(meaning.why, meaning.ref);
  const { ref } = meaning.labels;
  if (uuid === undefined) return unreadable("uuid: expected a UUID", ref);
  const read =
    kind === "container"
      ? readWith(containerSchema, value, (container) => observeContainer(container, meaning.labels))
      : readWith(capsuleSchema, value, (capsule) => observeCapsule(capsule, meaning.labels));
  const hasOtherName = typeof name === "string" && name !== objectName(ref);
  if (typeof read === "string") {
    const { entry } = unreadable(read, ref);
    return { entry: { ...entry, hasOtherName }, labels: meaning.labels };
  }
  if (read.status === "Deleted") return undefined;
  const identity: IdentityReading = { kind: "pod", identity: identityIn(meaning.labels) };
  const createdAt = read.createdAt?.replace(" ", "T").replace(/(Z|\+00:00)?$/, "Z");
  return { entry: { id, identity, version: versionOf(read), createdAt, hasOtherName }, labels: meaning.labels };
}

/** Facts of an object that change with its state; not its times, such as `Up 5 mins`. */
function versionOf({ status, reason, taskState, detail, addresses, members, initMembers }: ZunObject): string {
  const states = [...members, ...initMembers].map((member) => [member.uuid, member.status, member.reason, member.taskState]);
  return JSON.stringify([status, reason, taskState, tryEndDetail(detail)?.exitCode, addresses, states]);
}

/** @returns what is wrong with the object, or what it says */
function readWith<T>(schema: z.ZodType<T>, value: unknown, observe: (object: T) => ZunObject): ZunObject | string {
  const { success, data, error } = schema.safeParse(value);
  return success ? observe(data) : problemOf(error);
}
