import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { PodIdentity } from "../backend/observation.ts";
import { base32Hash } from "./base32.ts";

/** Characters of the hash in a name: 130 bits, so that no two pods ever have the same name. */
const hashCharacters = 26;

/** Maximum number of characters of a {@link createToken}: that of Amazon ECS, whose tokens are the shortest. */
const maxTokenLength = 64;

/** Rules of a back end for the names of its objects. */
export interface ObjectNameRules {
  /** Beginning of every name. Default: `vk-`. */
  readonly prefix?: string | undefined;
  /** Maximum number of characters; at least 26 more than the prefix has. */
  readonly maxLength: number;
  /** Allowed characters. Default: `a-z0-9-`. A hyphen or underscore never comes last, and never twice in a row. */
  readonly alphabet?: "a-z0-9-" | "a-z0-9_" | "a-z0-9" | undefined;
}

/**
 * Returns the name of a pod's object: the prefix, as much of namespace and name as there is room for, and a hash of the whole identity, such
 * as `vk-default-web-0-k3j…`. The same identity always has the same name, and the hash alone tells names apart: namespace `a-b` with pod
 * `c`, and namespace `a` with pod `b-c`, have different names.
 *
 * @throws InvalidInputError if the rules leave no room for the hash
 */
export function objectName({ ref, owner, attempt }: PodIdentity, rules: ObjectNameRules): string {
  const { maxLength, alphabet = "a-z0-9-" } = rules;
  const joiner = alphabet === "a-z0-9-" ? "-" : alphabet === "a-z0-9_" ? "_" : "";
  const prefix = rules.prefix ?? `vk${joiner}`;
  if (maxLength < prefix.length + hashCharacters)
    throw new InvalidInputError(
      `name the object of pod ${ref.namespace}/${ref.name}: a name with the prefix "${prefix}" has at least ` +
        `${prefix.length + hashCharacters} characters, and ${maxLength} are allowed; use a shorter prefix`,
    );
  const hash = base32Hash([owner.clusterId, ref.namespace, ref.name, ref.uid, String(attempt)]).slice(0, hashCharacters);
  const room = maxLength - prefix.length - hashCharacters - joiner.length;
  const readable = `${ref.namespace}-${ref.name}`
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join(joiner)
    .slice(0, Math.max(0, room))
    .replace(/[-_]$/, "");
  return readable === "" ? `${prefix}${hash}` : `${prefix}${readable}${joiner}${hash}`;
}

/**
 * Returns the idempotency token of the create of a pod's object: UID and attempt, at most 64 printable ASCII characters. A create that is
 * repeated after a lost answer has the same token, and the object of the next attempt another one.
 */
export function createToken({ ref: { uid }, attempt }: PodIdentity): string {
  const token = `${uid}-${attempt}`;
  return token.length <= maxTokenLength && /^[a-zA-Z0-9-]+$/.test(token) ? token : base32Hash([uid, String(attempt)]);
}
