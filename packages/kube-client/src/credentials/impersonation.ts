import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** The user that a kubeconfig's user impersonates. */
export interface Impersonation {
  readonly as?: unknown;
  readonly "as-uid"?: unknown;
  readonly "as-groups"?: unknown;
  readonly "as-user-extra"?: unknown;
}

/** Headers by lower-case name; several values are several headers. */
export type Headers = Readonly<Record<string, string | readonly string[]>>;

/**
 * Returns the headers for a request as another user. Source: client-go `transport/round_trippers.go`,
 * `NewImpersonatingRoundTripper`.
 *
 * @param who - the entry for errors: `kubeconfig /etc/k: user "u"`
 * @returns `undefined` if nobody is impersonated
 * @throws InvalidInputError naming the field
 */
export function impersonationHeaders(who: string, user: Impersonation): Headers | undefined {
  const name = textOf(who, user, "as");
  const uid = textOf(who, user, "as-uid");
  const groups = listOf(who, "as-groups", user["as-groups"]);
  const extra = Object.entries(mapOf(who, "as-user-extra", user["as-user-extra"]));
  if (name === undefined) {
    const given = { "as-uid": uid !== undefined, "as-groups": groups.length > 0, "as-user-extra": extra.length > 0 };
    const alone = Object.entries(given).find(([, isGiven]) => isGiven)?.[0];
    if (alone) throw new InvalidInputError(`${who} has ${alone} without as: name the user to act as`);
    return undefined;
  }
  const headers: Record<string, string | readonly string[]> = { "impersonate-user": name };
  if (uid !== undefined) headers["impersonate-uid"] = uid;
  if (groups.length > 0) headers["impersonate-group"] = groups;
  for (const [key, values] of extra) {
    headers[`impersonate-extra-${escapedKey(key)}`] = listOf(who, `as-user-extra.${key}`, values);
  }
  return headers;
}

function textOf(who: string, user: Impersonation, field: "as" | "as-uid"): string | undefined {
  const value = user[field];
  if (isEmpty(value)) return undefined;
  if (typeof value !== "string") throw wrong(who, field, value, "a text");
  return headerValue(who, field, value);
}

function listOf(who: string, field: string, value: unknown): readonly string[] {
  if (isEmpty(value)) return [];
  if (!Array.isArray(value)) throw wrong(who, field, value, 'a list of texts such as ["system:nodes"]');
  return value.map((item: unknown, index) => {
    if (typeof item !== "string") throw wrong(who, `${field}[${index}]`, item, "a text");
    return headerValue(who, `${field}[${index}]`, item);
  });
}

function mapOf(who: string, field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (isEmpty(value)) return {};
  if (typeof value !== "object" || Array.isArray(value))
    throw wrong(who, field, value, 'lists of texts by key, such as {"scopes": ["view"]}');
  return value as Readonly<Record<string, unknown>>;
}

function isEmpty(value: unknown): value is undefined | null | "" {
  return value === undefined || value === null || value === "";
}

/** Encodes a text as UTF-8 bytes for a header. */
function headerValue(who: string, field: string, text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(text)) throw wrong(who, field, text, "a text without control characters");
  return Buffer.from(text, "utf8").toString("latin1");
}

/** A header's name allows few characters; others are percent-encoded. Source: as above, `headerKeyEscape`. */
function escapedKey(key: string): string {
  return [...Buffer.from(key, "utf8")]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[!#$&'*+\-.^_`|~0-9A-Za-z]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("")
    .toLowerCase();
}

function wrong(who: string, field: string, value: unknown, expected: string): InvalidInputError {
  return new InvalidInputError(`${who} has ${field} ${JSON.stringify(value)}, expected ${expected}`);
}
