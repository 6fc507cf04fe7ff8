import type { ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { podKind } from "./invariants.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Name and UID of the pod that a path names; `undefined` when there is none. */
export function podOfPath(server: ApiServer, path: string): { readonly name: string; readonly uid: string } | undefined {
  const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/?]+)\/pods\/([^/?]+)/.exec(path) ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  const uid = server.cluster.get(podKind, namespace, name)?.metadata.uid;
  return uid === undefined ? undefined : { name, uid };
}

/** A list without the objects of some UIDs. */
export function withoutItems(body: Uint8Array, isHidden: (uid: string) => boolean): Uint8Array {
  const list = JSON.parse(decoder.decode(body)) as { items?: { metadata: { uid: string } }[] };
  return encoder.encode(JSON.stringify({ ...list, items: list.items?.filter(({ metadata }) => !isHidden(metadata.uid)) }));
}

/** The lines of a watch without those about hidden objects. */
export function withoutHiddenEvents(chunk: Uint8Array, hidden: ReadonlySet<string>): Uint8Array {
  const lines = decoder.decode(chunk).split("\n");
  const shown = lines.filter((line) => line !== "" && !hidden.has(uidIn(line) ?? ""));
  return encoder.encode(shown.map((line) => `${line}\n`).join(""));
}

function uidIn(line: string): string | undefined {
  return (JSON.parse(line) as { object?: { metadata?: { uid?: string } } }).object?.metadata?.uid;
}
