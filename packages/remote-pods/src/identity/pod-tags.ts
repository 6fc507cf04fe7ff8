import type { Owner, PodRef } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { IdentityReading, PodIdentity } from "../backend/observation.ts";
import { base32Hash } from "./base32.ts";
import { commonTagLimits, type TagLimits } from "./tag-limits.ts";

const managedBy = "virtual-kubelet";

/** Version of the tags that this release writes and reads. */
const tagsVersion = "1";

/** Beginning of a value that stands for a longer one. A value that begins like this by itself is hashed, too. */
const hashPrefix = "sha256-";

/** Words of a key, without `vk` and the separator. */
type TagName = "managed-by" | "version" | "cluster" | "node" | "namespace" | "name" | "uid" | "attempt" | "created-at";

/** Facts in an object's tags besides its identity. */
export interface TagDetails {
  /** RFC 3339; for back ends that do not tell when an object was created. */
  readonly createdAt?: string | undefined;
}

/**
 * Returns the tags of a pod's object: `vk.managed-by`, `vk.version`, `vk.cluster`, `vk.node`, `vk.namespace`, `vk.name`, `vk.uid`, `vk.attempt`
 * and, if given, `vk.created-at`. An empty cluster id has no tag, because some back ends refuse empty values.
 *
 * A cluster id or node name that the limits do not allow is replaced by its hash, because it is only ever compared with the node's own. A
 * namespace, name or UID that they do not allow is refused, because it could not be read back.
 *
 * @throws InvalidInputError that names the field of the pod, or the limit that the keys exceed
 */
export function writeTags(
  { ref, owner, attempt }: PodIdentity,
  { createdAt }: TagDetails = {},
  limits: TagLimits = commonTagLimits,
): Record<string, string> {
  const pod = `tag the object of pod ${ref.namespace}/${ref.name}`;
  const exact = (field: string, value: string): string => {
    if (isAllowed(value, limits)) return value;
    const rule =
      value.length > limits.maxValueLength ? `at most ${limits.maxValueLength} characters` : `values like ${limits.valuePattern}`;
    throw new InvalidInputError(`${pod}: ${field}: "${value}" (${value.length} characters): the back end's tags take ${rule}`);
  };
  const values: Partial<Record<TagName, string>> = {
    "managed-by": managedBy,
    version: tagsVersion,
    ...(owner.clusterId !== "" && { cluster: comparable(owner.clusterId, limits) }),
    node: comparable(owner.nodeName, limits),
    namespace: exact("metadata.namespace", ref.namespace),
    name: exact("metadata.name", ref.name),
    uid: exact("metadata.uid", ref.uid),
    attempt: exact("attempt", String(attempt)),
    ...(createdAt !== undefined && { "created-at": exact("metadata.creationTimestamp", createdAt) }),
  };
  const tags = Object.fromEntries(Object.entries(values).map(([name, value]) => [keyOf(name as TagName, limits), value]));
  const keys = Object.keys(tags);
  const tooLong = keys.find((key) => key.length > limits.maxKeyLength);
  if (tooLong !== undefined)
    throw new InvalidInputError(`${pod}: key ${tooLong}: the back end's tags take keys of at most ${limits.maxKeyLength} characters`);
  if (keys.length > limits.maxCount)
    throw new InvalidInputError(`${pod}: ${keys.length} tags: the back end takes at most ${limits.maxCount} on an object`);
  return tags;
}

/**
 * Reads an object's tags, in any form; `undefined` and `null` mean that it has none. Of objects of other nodes and other programs, only the
 * owner is read. An object whose owner cannot be read is `unreadable` without a `ref`: it is not removed as an orphan, and no pod is adopted.
 *
 * @param owner - the node that asks
 * @param limits - those that the tags were written with
 */
export function readTags(tags: unknown, owner: Owner, limits: TagLimits = commonTagLimits): IdentityReading {
  if (tags === undefined || tags === null) return { kind: "foreign" };
  if (typeof tags !== "object" || Array.isArray(tags)) return unreadable("expected an object; whose it is cannot be told");
  const tag = lookUp(tags as Readonly<Record<string, unknown>>, limits);
  const others = readOwner(tag, owner, limits);
  if (others) return others;
  const ref = refOf(tag);
  if (typeof ref === "string") return unreadable(`${keyOf(ref, limits)}: expected ${ref === "uid" ? "a UID" : "a name"}`);
  const version = tag("version");
  if (version !== tagsVersion) {
    const advice = `this release reads version ${tagsVersion}; run the release that wrote it`;
    return unreadable(`${keyOf("version", limits)}: ${version === undefined ? "it is missing" : advice}`, ref);
  }
  const attempt = tag("attempt");
  if (typeof attempt !== "string" || !/^(0|[1-9]\d{0,8})$/.test(attempt))
    return unreadable(`${keyOf("attempt", limits)}: expected a whole number from 0`, ref);
  return { kind: "pod", identity: { ref, owner, attempt: Number(attempt) } };
}

/** Returns the time of creation in an object's tags, RFC 3339; `undefined` if there is none, or none that can be read. */
export function createdAtOf(tags: unknown, limits: TagLimits = commonTagLimits): string | undefined {
  if (typeof tags !== "object" || tags === null) return undefined;
  const time = lookUp(tags as Readonly<Record<string, unknown>>, limits)("created-at");
  return typeof time === "string" && /^\d{4}-\d\d-\d\dT/.test(time) && !Number.isNaN(Date.parse(time)) ? time : undefined;
}

function unreadable(why: string, ref?: PodRef): IdentityReading {
  return { kind: "unreadable", why: `tags: ${why}`, ...(ref && { ref }) };
}

/** Returns `undefined` if the object certainly belongs to the node. */
function readOwner(tag: (name: TagName) => unknown, owner: Owner, limits: TagLimits): IdentityReading | undefined {
  const manager = tag("managed-by");
  if (manager === undefined || (typeof manager === "string" && manager !== managedBy)) return { kind: "foreign" };
  const [nodeName, clusterId = ""] = [tag("node"), tag("cluster")];
  const isOthers = (own: string, told: unknown): boolean => typeof told === "string" && told !== comparable(own, limits);
  if ((nodeName !== "" && isOthers(owner.nodeName, nodeName)) || isOthers(owner.clusterId, clusterId)) return { kind: "foreign" };
  // Not adopted, because core would delete a pod that is reported as the node's own as an orphan.
  if (manager !== managedBy || typeof nodeName !== "string" || nodeName === "" || typeof clusterId !== "string") {
    const keys = (["managed-by", "node", "cluster"] as const).map((name) => keyOf(name, limits)).join(", ");
    return unreadable(`${keys}: expected texts; whose it is cannot be told`);
  }
  return undefined;
}

/** Returns the pod, or the first tag that cannot be read. */
function refOf(tag: (name: TagName) => unknown): PodRef | "namespace" | "name" | "uid" {
  const read = (name: TagName): string | undefined => {
    const value = tag(name);
    return typeof value === "string" && /^\S{1,253}$/.test(value) ? value : undefined;
  };
  const [namespace, name, uid] = [read("namespace"), read("name"), read("uid")];
  if (namespace === undefined) return "namespace";
  if (name === undefined) return "name";
  return uid === undefined ? "uid" : { namespace, name, uid };
}

function lookUp(tags: Readonly<Record<string, unknown>>, limits: TagLimits): (name: TagName) => unknown {
  const lowered =
    limits.ignoresKeyCase === true ? Object.entries(tags).map(([key, value]): [string, unknown] => [key.toLowerCase(), value]) : [];
  const byKey = new Map([...lowered, ...Object.entries(tags)]);
  return (name) => byKey.get(keyOf(name, limits));
}

function keyOf(name: TagName, { keySeparator }: TagLimits): string {
  return `vk${keySeparator}${keySeparator === "_" ? name.replaceAll("-", "_") : name}`;
}

/** A value that is only compared: itself, or its hash if the limits do not allow it. */
function comparable(value: string, limits: TagLimits): string {
  if (value === "" || (isAllowed(value, limits) && !value.startsWith(hashPrefix))) return value;
  return `${hashPrefix}${base32Hash([value])}`.slice(0, limits.maxValueLength);
}

function isAllowed(value: string, { maxValueLength, valuePattern }: TagLimits): boolean {
  if (value.length > maxValueLength) return false;
  return valuePattern === undefined || new RegExp(`^(?:${valuePattern.source})$`, valuePattern.flags.replace(/[gy]/g, "")).test(value);
}
