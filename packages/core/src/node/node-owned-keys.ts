import type { DeepReadonly, Taint } from "@virtual-kubelet/kube-client";
import { defaultCapacity, wantedNode, type WantedNode } from "./node-object.ts";

/** Keys of our entries in maps that we share with others. A key that vanishes here is removed from the node. */
export interface OwnedKeys {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
  /** As `key:effect`. */
  readonly taints: readonly string[];
  /** Of capacity and allocatable. */
  readonly resources: readonly string[];
  readonly conditions: readonly string[];
}

/**
 * Annotation that lists the keys of {@link OwnedKeys}, so that after a restart with other options the stale ones go.
 * Upstream keeps whole copies of metadata and status there, which doubles the object, and stops for good where one is
 * damaged.
 */
export const ownedKeysAnnotation = "virtual-kubelet.io/owned-keys";

const none: OwnedKeys = { labels: [], annotations: [], taints: [], resources: [], conditions: [] };

const fields = ["labels", "annotations", "taints", "resources", "conditions"] as const satisfies readonly (keyof OwnedKeys)[];

/** Keys that every node gets from us, which need not be listed. */
const always: OwnedKeys = keysOf(
  wantedNode({ name: "any", instance: { identity: "" } }, {}, { health: { kind: "unknown" }, answered: false, inventoryLoaded: false }),
);

/** Returns the keys of the desired node that not every node has. */
export function ownedKeys(wanted: WantedNode): OwnedKeys {
  const keys = keysOf(wanted);
  return mapFields((field) => keys[field].filter((key) => !always[field].includes(key)));
}

/** Returns the union of the keys. */
export function joinKeys(a: OwnedKeys, b: OwnedKeys): OwnedKeys {
  return mapFields((field) => [...new Set([...a[field], ...b[field]])]);
}

/** Returns a taint's identity for the API server. */
export function taintKey(taint: DeepReadonly<Taint>): string {
  return `${taint.key}:${taint.effect}`;
}

/** Returns the annotation's value; `undefined` if there are no keys to list. */
export function formatOwnedKeys(keys: OwnedKeys): string | undefined {
  const listed = fields.filter((field) => keys[field].length > 0);
  if (listed.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(listed.map((field) => [field, keys[field].toSorted()])));
}

/** Reads the annotation. Unreadable parts count as absent, because anybody may write to it. */
export function parseOwnedKeys(annotation: string | undefined): OwnedKeys {
  const parsed = tryParseJson(annotation);
  if (typeof parsed !== "object" || parsed === null) return none;
  return mapFields((field) => {
    const value: unknown = (parsed as Record<string, unknown>)[field];
    return Array.isArray(value) ? value.filter((key) => typeof key === "string") : [];
  });
}

function keysOf(wanted: WantedNode): OwnedKeys {
  return {
    labels: Object.keys(wanted.labels),
    annotations: Object.keys(wanted.annotations),
    taints: wanted.taints.map(taintKey),
    resources: [...new Set([...Object.keys(defaultCapacity), ...Object.keys(wanted.capacity), ...Object.keys(wanted.allocatable)])],
    conditions: wanted.conditions.map(({ type }) => type),
  };
}

function mapFields(keysOfField: (field: keyof OwnedKeys) => readonly string[]): OwnedKeys {
  return {
    labels: keysOfField("labels"),
    annotations: keysOfField("annotations"),
    taints: keysOfField("taints"),
    resources: keysOfField("resources"),
    conditions: keysOfField("conditions"),
  };
}

function tryParseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
