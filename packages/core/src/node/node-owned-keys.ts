import type { DeepReadonly, Taint } from "@virtual-kubelet/kube-client";
import { defaultCapacity, wantedNode, type WantedNode } from "./node-object.ts";

/** Keys of what we put on the node and others may have put there as well: what vanishes from here is removed there. */
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

/** What every node has from us: nobody needs to be told. */
const always: OwnedKeys = keysOf(
  wantedNode({ name: "any", instance: { identity: "" } }, {}, { health: { kind: "unknown" }, answered: false, inventoryLoaded: false }),
);

/** The keys of what is wanted beyond what every node has. */
export function ownedKeys(wanted: WantedNode): OwnedKeys {
  const keys = keysOf(wanted);
  return mapFields((field) => keys[field].filter((key) => !always[field].includes(key)));
}

/** All keys of either. */
export function joinKeys(a: OwnedKeys, b: OwnedKeys): OwnedKeys {
  return mapFields((field) => [...new Set([...a[field], ...b[field]])]);
}

/** A taint's key, as the API server tells taints apart. */
export function taintKey(taint: DeepReadonly<Taint>): string {
  return `${taint.key}:${taint.effect}`;
}

/** The annotation's value; `undefined` if there is nothing to list. */
export function formatOwnedKeys(keys: OwnedKeys): string | undefined {
  const listed = fields.filter((field) => keys[field].length > 0);
  if (listed.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(listed.map((field) => [field, keys[field].toSorted()])));
}

/** Reads the annotation. Whatever in it cannot be read counts as absent: anybody may write there. */
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
