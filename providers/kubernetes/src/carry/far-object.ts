import type { PodRef } from "@virtual-kubelet/core";
import { resources, type ConfigMap, type ObjectMeta, type OwnerReference, type Resource, type Secret } from "@virtual-kubelet/kube-client";
import { copyName, podSecretName } from "../identity/names.ts";
import { labelValue, ownerTags, tagAnnotations, tagLabels, type FarOwner } from "../identity/tags.ts";
import type { Content, HomeObject } from "./content.ts";

/** Name and tags of a far config map or secret of ours. */
export interface FarObject {
  readonly kind: "ConfigMap" | "Secret";
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** What it is, for messages: `secret default/db`. */
  readonly title: string;
}

/** Key of an object in maps and queues. */
export function keyOf({ kind, namespace, name }: Pick<FarObject, "kind" | "namespace" | "name">): string {
  return `${kind}/${namespace}/${name}`;
}

/** The far copy of a home object. */
export function copyOf(owner: FarOwner, home: HomeObject, namespace: string): FarObject {
  const { labels, annotations } = ownerTags(owner);
  const fullName = `${home.namespace}/${home.name}`;
  return {
    kind: home.kind,
    namespace,
    name: copyName(owner, home.kind, home),
    labels,
    annotations: { ...annotations, [tagAnnotations.copyOf]: fullName },
    title: `${nounOf(home.kind)} ${fullName}`,
  };
}

/** The far secret with what only this pod has. */
export function podSecretOf(owner: FarOwner, pod: PodRef, namespace: string): FarObject {
  const { labels, annotations } = ownerTags(owner);
  const fullName = `${pod.namespace}/${pod.name}`;
  return {
    kind: "Secret",
    namespace,
    name: podSecretName(owner, pod),
    labels: { ...labels, [tagLabels.podUid]: labelValue(pod.uid) },
    annotations: { ...annotations, [tagAnnotations.pod]: fullName },
    title: `secret with the files of pod ${fullName}`,
  };
}

/** The object to create. */
export function newObject(object: FarObject, content: Content, owner: OwnerReference): ConfigMap & Secret {
  return {
    metadata: { namespace: object.namespace, name: object.name, ...tagsOf(object, content), ownerReferences: [owner] },
    ...(object.kind === "Secret" ? { type: content.type, data: { ...content.data } } : valuesOf(content)),
  };
}

/** Strategic merge patch that makes an object as it has to be, and keeps what others have added to its metadata. */
export function objectPatch(
  object: FarObject,
  content: Content,
  { uid, owner }: { readonly uid: string; readonly owner: OwnerReference },
): object {
  return {
    metadata: { uid, ...tagsOf(object, content), ownerReferences: [owner, { $patch: "replace" }] },
    data: replaced(content.data),
    ...(object.kind === "Secret" ? { type: content.type } : { binaryData: replaced(content.binaryData ?? {}) }),
  };
}

/** The resource of config maps or secrets. Both are read and written by the same code. */
export function resourceOf(kind: FarObject["kind"]): Resource<ConfigMap & Secret> {
  return kind === "ConfigMap" ? resources.configMaps : resources.secrets;
}

/** `config map` or `secret`. */
function nounOf(kind: FarObject["kind"]): string {
  return kind === "ConfigMap" ? "config map" : "secret";
}

function tagsOf({ labels, annotations }: FarObject, { version }: Content): Pick<ObjectMeta, "labels" | "annotations"> {
  // The version of a pod's files is a hash that nobody has to see.
  const isCopy = annotations[tagAnnotations.copyOf] !== undefined;
  return { labels: { ...labels }, annotations: { ...annotations, ...(isCopy && { [tagAnnotations.copyVersion]: version }) } };
}

function valuesOf({ data, binaryData = {} }: Content): Pick<ConfigMap, "data" | "binaryData"> {
  return { data: { ...data }, ...(Object.keys(binaryData).length > 0 && { binaryData: { ...binaryData } }) };
}

function replaced(values: Readonly<Record<string, string>>): object | null {
  return Object.keys(values).length === 0 ? null : { ...values, $patch: "replace" };
}
