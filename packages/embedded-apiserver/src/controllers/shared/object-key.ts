import type { ApiObject } from "../../kinds/kind.ts";

/** Work queue key of an object: `namespace/name`, or `/name` for cluster-scoped kinds. */
export function keyOf({ metadata }: Pick<ApiObject, "metadata">): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Splits a key into its parts. */
export function parseKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
