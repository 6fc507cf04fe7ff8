import type { ApiObject } from "../../kinds/kind.ts";

/** `namespace/name`, or `/name` of an object without a namespace: what work loops count by. */
export function keyOf({ metadata }: Pick<ApiObject, "metadata">): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** The parts of a key. */
export function parseKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
