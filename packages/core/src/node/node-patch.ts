import type { DeepReadonly, Node, NodeCondition, NodeStatus, Patch, Taint } from "@virtual-kubelet/kube-client";
import { compareQuantities, isJsonObject, rfc3339, tryParseQuantity } from "@virtual-kubelet/kubernetes";
import { isDeepStrictEqual } from "node:util";
import { providerAvailableCondition, providerUnavailableTaint, type WantedCondition, type WantedNode } from "./node-object.ts";
import { formatOwnedKeys, joinKeys, ownedKeys, ownedKeysAnnotation, parseOwnedKeys, taintKey, type OwnedKeys } from "./node-owned-keys.ts";

/** Annotation of a node that our `onShutdown` policy cordoned. The next start undoes only such a cordon. */
export const cordonedAnnotation = "virtual-kubelet.io/cordoned-at-shutdown";

/** What {@link planNodePatches} looks at besides the wanted and the present node. */
export interface NodePatchOptions {
  /** Wall-clock time in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Keys of ours in addition to those that the node's annotation lists. */
  readonly owned: OwnedKeys;
  /** Whether the heartbeat is due, even without a change. */
  readonly report: boolean;
  /** Whether our own cordon has to be undone. */
  readonly uncordon: boolean;
  /** Whether only labels that a kubelet's credentials may write are changed. */
  readonly restrictedLabels: boolean;
  /** Whether taints are not changed. */
  readonly keepTaints: boolean;
}

/** The requests that bring a node to its desired state; absent if there is no difference. */
export interface NodePatches {
  /** For `nodes`: taints, provider id, a cordon undone. Fails with a conflict if the node changed in between. */
  readonly spec: Patch | undefined;
  /** For `nodes/status`: status, labels and annotations. Fails with a conflict if the node was replaced. */
  readonly status: Patch | undefined;
}

type Body = Record<string, unknown>;

/** Returns the node object to create. The API server accepts it with its status. */
export function planNode(wanted: WantedNode, options: { readonly nowMs: number; readonly restrictedLabels: boolean }): Node {
  const labels = options.restrictedLabels ? pickLabels(wanted.labels) : wanted.labels;
  const owned = formatOwnedKeys(ownedKeys({ ...wanted, labels }));
  const time = rfc3339(options.nowMs);
  const status: NodeStatus = {
    capacity: { ...wanted.capacity },
    allocatable: { ...wanted.allocatable },
    addresses: wanted.addresses?.map((address) => ({ ...address })) ?? [],
    conditions: wanted.conditions.map((condition) => ({ ...condition, lastHeartbeatTime: time, lastTransitionTime: time })),
    ...statusOnTheWire(wanted),
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: wanted.name,
      labels: { ...labels },
      annotations: { ...wanted.annotations, ...(owned !== undefined && { [ownedKeysAnnotation]: owned }) },
    },
    spec: { taints: wanted.taints.map((taint) => ({ ...taint })), providerID: wanted.providerID },
    status,
  };
}

/**
 * Computes the patches that bring the node to its desired state: missing and different entries are set, entries that we wrote and
 * no longer want are removed, and all others stay. The status patch is a strategic merge that replaces the addresses as a
 * whole: they merge by type, so one of two internal addresses would be lost.
 */
export function planNodePatches(wanted: WantedNode, current: DeepReadonly<Node>, options: NodePatchOptions): NodePatches {
  const before = joinKeys(options.owned, parseOwnedKeys(current.metadata?.annotations?.[ownedKeysAnnotation]));
  return { spec: specPatch(wanted, current, before, options), status: statusPatch(wanted, current, before, options) };
}

/** Whether the node's taints differ from the desired ones. */
export function changesTaints(wanted: WantedNode, current: DeepReadonly<Node>): boolean {
  const present = current.spec?.taints ?? [];
  const before = parseOwnedKeys(current.metadata?.annotations?.[ownedKeysAnnotation]);
  return !isDeepStrictEqual(mergeTaints(wanted.taints, present, before), present);
}

function specPatch(wanted: WantedNode, current: DeepReadonly<Node>, before: OwnedKeys, options: NodePatchOptions): Patch | undefined {
  const spec: Body = {};
  const metadata: Body = {};
  const present = current.spec?.taints ?? [];
  const taints = mergeTaints(wanted.taints, present, before);
  if (!options.keepTaints && !isDeepStrictEqual(taints, present)) spec["taints"] = taints;
  // The API server accepts it once and never a change.
  if (wanted.providerID && !current.spec?.providerID) spec["providerID"] = wanted.providerID;
  if (options.uncordon && current.metadata?.annotations?.[cordonedAnnotation] !== undefined) {
    spec["unschedulable"] = null;
    metadata["annotations"] = { [cordonedAnnotation]: null };
  }
  if (isEmpty(spec)) return undefined;
  const { uid, resourceVersion } = current.metadata ?? {};
  return { type: "merge", body: { metadata: { ...metadata, uid, resourceVersion }, spec } };
}

function mergeTaints(
  wanted: readonly DeepReadonly<Taint>[],
  present: readonly DeepReadonly<Taint>[],
  before: OwnedKeys,
): DeepReadonly<Taint>[] {
  const stale = new Set([...before.taints, taintKey(providerUnavailableTaint)]);
  const wantedByKey = new Map(wanted.map((taint) => [taintKey(taint), taint]));
  const kept = present.flatMap((taint) => {
    const ours = wantedByKey.get(taintKey(taint));
    if (!ours) return stale.has(taintKey(taint)) ? [] : [taint];
    wantedByKey.delete(taintKey(taint));
    return [(ours.value ?? "") === (taint.value ?? "") ? taint : ours];
  });
  return [...kept, ...wantedByKey.values()];
}

function statusPatch(wanted: WantedNode, current: DeepReadonly<Node>, before: OwnedKeys, options: NodePatchOptions): Patch | undefined {
  const { labels, annotations } = current.metadata ?? {};
  const wantedLabels = options.restrictedLabels ? pickLabels(wanted.labels) : wanted.labels;
  const staleLabels = options.restrictedLabels ? before.labels.filter(isKubeletsLabel) : before.labels;
  const owned = formatOwnedKeys(ownedKeys({ ...wanted, labels: wantedLabels }));
  const wantedAnnotations = { ...wanted.annotations, ...(owned !== undefined && { [ownedKeysAnnotation]: owned }) };
  const metadata = withoutEmpty({
    labels: mapChanges(wantedLabels, labels ?? {}, staleLabels),
    annotations: mapChanges(wantedAnnotations, annotations ?? {}, [...before.annotations, ownedKeysAnnotation]),
  });
  const status: Body = withoutEmpty({
    capacity: mapChanges(wanted.capacity, current.status?.capacity ?? {}, before.resources, isSameQuantity),
    allocatable: mapChanges(wanted.allocatable, current.status?.allocatable ?? {}, before.resources, isSameQuantity),
    addresses: addressChanges(wanted, current),
    ...statusChanges(wanted, current),
    declaredFeatures: declaredFeatureChanges(wanted, current, options),
  });
  const conditions = conditionChanges(wanted.conditions, current.status?.conditions ?? [], before, options.nowMs);
  if (isEmpty(metadata) && isEmpty(status) && !conditions.changed && !options.report) return undefined;
  // As with a kubelet, each write is a heartbeat as well.
  return { type: "strategic", body: { metadata: { uid: current.metadata?.uid, ...metadata }, status: { ...status, ...conditions.body } } };
}

/** Fields of the status that are written as a whole. The API's `Port` is `port` in client-node's types. */
function statusOnTheWire(wanted: WantedNode): object {
  const daemonEndpoints = { kubeletEndpoint: { Port: wanted.kubeletPort } };
  return {
    nodeInfo: { ...wanted.nodeInfo },
    ...(wanted.kubeletPort !== 0 && { daemonEndpoints }),
    ...(wanted.images && { images: wanted.images }),
    ...(wanted.declaredFeatures.length > 0 && { declaredFeatures: [...wanted.declaredFeatures] }),
  };
}

function statusChanges(wanted: WantedNode, current: DeepReadonly<Node>): Body {
  const present = current.status as
    | DeepReadonly<{ nodeInfo?: Record<string, unknown>; daemonEndpoints?: { kubeletEndpoint?: { Port?: number } } }>
    | undefined;
  const nodeInfo = Object.fromEntries(Object.entries(wanted.nodeInfo).filter(([key, value]) => value !== (present?.nodeInfo?.[key] ?? "")));
  const port = present?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  const hasSameImages = wanted.images === undefined || isDeepStrictEqual(wanted.images, imagesOf(current));
  return {
    nodeInfo,
    images: hasSameImages ? undefined : wanted.images,
    daemonEndpoints:
      port === wanted.kubeletPort ? undefined : { kubeletEndpoint: wanted.kubeletPort === 0 ? null : { Port: wanted.kubeletPort } },
  };
}

function imagesOf({ status }: DeepReadonly<Node>): WantedNode["images"] {
  return (status?.images ?? []).map(({ names = [], sizeBytes = 0 }) => ({ names, sizeBytes }));
}

/** An API server that does not know the field drops it, so a missing field is written with a heartbeat but causes none. */
function declaredFeatureChanges(wanted: WantedNode, current: DeepReadonly<Node>, { report }: NodePatchOptions): unknown {
  const present = current.status?.declaredFeatures ?? [];
  if (isDeepStrictEqual(wanted.declaredFeatures, present) || (present.length === 0 && !report)) return undefined;
  return wanted.declaredFeatures.length > 0 ? wanted.declaredFeatures : null;
}

function addressChanges(wanted: WantedNode, current: DeepReadonly<Node>): unknown {
  const present = current.status?.addresses ?? [];
  const isSame =
    wanted.addresses?.length === present.length &&
    wanted.addresses.every(({ type, address }, index) => type === present[index]?.type && address === present[index]?.address);
  if (wanted.addresses === undefined || isSame) return undefined;
  return [{ $patch: "replace" }, ...wanted.addresses];
}

function conditionChanges(
  wanted: readonly WantedCondition[],
  present: readonly DeepReadonly<NodeCondition>[],
  before: OwnedKeys,
  nowMs: number,
): { readonly changed: boolean; readonly body: Body } {
  const now = rfc3339(nowMs);
  const stale = [...before.conditions, providerAvailableCondition].filter(
    (type, index, all) =>
      type !== "Ready" &&
      all.indexOf(type) === index &&
      present.some((found) => found.type === type) &&
      !wanted.some((ours) => ours.type === type),
  );
  let changed = stale.length > 0;
  const written = wanted.map((condition) => {
    const found = present.find(({ type }) => type === condition.type);
    changed ||=
      found?.status !== condition.status || (found.reason ?? "") !== condition.reason || (found.message ?? "") !== condition.message;
    const lastTransitionTime = found?.status === condition.status ? (found.lastTransitionTime ?? now) : now;
    return { ...condition, lastHeartbeatTime: now, lastTransitionTime };
  });
  return {
    changed,
    body: { ...conditionOrder(wanted, present, stale), conditions: [...written, ...stale.map((type) => ({ type, $patch: "delete" }))] },
  };
}

/** Keeps Ready last, because some readers take the last condition for it. */
function conditionOrder(
  wanted: readonly WantedCondition[],
  present: readonly DeepReadonly<NodeCondition>[],
  stale: readonly string[],
): Body {
  const types = present.map(({ type }) => type).filter((type) => !stale.includes(type));
  const added = wanted.map(({ type }) => type).filter((type) => !types.includes(type));
  const all = [...types, ...added];
  if (!all.includes("Ready") || all.at(-1) === "Ready") return {};
  // Entries of the patch must be listed in the patch's own order, in which Ready is last as well.
  const ours = wanted.map(({ type }) => type).filter((type) => type !== "Ready");
  const others = all.filter((type) => type !== "Ready" && !ours.includes(type));
  return { "$setElementOrder/conditions": [...ours, ...others, "Ready"].map((type) => ({ type })) };
}

/** Returns the merge of one map: different entries are set, stale ones that still exist are `null`. */
function mapChanges(
  wanted: Readonly<Record<string, string>>,
  present: Readonly<Record<string, string | undefined>>,
  stale: readonly string[],
  isSame: (a: string, b: string) => boolean = (a, b) => a === b,
): Body {
  const changes: Body = {};
  for (const [key, value] of Object.entries(wanted)) {
    const found = present[key];
    if (found === undefined || !isSame(found, value)) changes[key] = value;
  }
  for (const key of stale) if (Object.hasOwn(present, key) && !Object.hasOwn(wanted, key)) changes[key] = null;
  return changes;
}

/** Compares by value, because the server rewrites quantities: `1024Mi` becomes `1Gi`. */
function isSameQuantity(a: string, b: string): boolean {
  if (a === b) return true;
  const [parsedA, parsedB] = [tryParseQuantity(a), tryParseQuantity(b)];
  return parsedA !== undefined && parsedB !== undefined && compareQuantities(parsedA, parsedB) === 0;
}

const kubeletsLabels: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);

/**
 * Whether the NodeRestriction admission lets a kubelet's own credentials write the label.
 * Source: kubernetes v1.36.3 plugin/pkg/admission/noderestriction/admission.go, getForbiddenLabels.
 */
export function isKubeletsLabel(key: string): boolean {
  if (kubeletsLabels.has(key)) return true;
  const namespace = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  const isWithin = (suffix: string): boolean => namespace === suffix || namespace.endsWith(`.${suffix}`);
  if (isWithin("node-restriction.kubernetes.io")) return false;
  if (isWithin("kubelet.kubernetes.io") || isWithin("node.kubernetes.io")) return true;
  return !isWithin("kubernetes.io") && !isWithin("k8s.io");
}

function pickLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => isKubeletsLabel(key)));
}

function withoutEmpty(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined && !(isJsonObject(value) && isEmpty(value))));
}

function isEmpty(body: Body): boolean {
  return Object.keys(body).length === 0;
}
