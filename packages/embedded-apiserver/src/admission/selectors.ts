import { selectsLabels, type LabelSelector } from "@virtual-kubelet/kubernetes";
import { notFound } from "../errors/api-status-error.ts";
import type { ApiObject, ObjectReader } from "../kinds/kind.ts";
import { namespaceKind } from "../kinds/namespace.ts";
import type { AdmissionRequest, AdmissionSubject } from "./admission-plugin.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/predicates, which webhooks and policies share. */

/** Namespace as admission sees it: a namespace is its own. */
export function admissionNamespace({ kind, namespace, name }: AdmissionSubject): string {
  return kind === namespaceKind ? name : namespace;
}

/** Name of a request's object in errors. Source: pkg/admission/errors.go, `extractResourceName`. */
export function admissionName({ name, object }: Pick<AdmissionRequest, "name" | "object">): string {
  if (name !== "") return name;
  if (object !== undefined && object.metadata === undefined) return "Unknown/errorGettingName";
  return object?.metadata.name || object?.metadata.generateName || "Unknown";
}

/**
 * Whether a selector selects the namespace of a request. Cluster-scoped objects other than namespaces match every selector.
 *
 * @throws ApiStatusError 404 if the namespace does not exist
 */
export function matchesNamespaceSelector(selector: LabelSelector | undefined, request: AdmissionRequest, cluster: ObjectReader): boolean {
  if (isEmptySelector(selector)) return true;
  const name = admissionNamespace(request);
  const { kind, subresource, operation, object } = request;
  if (name === "" && kind !== namespaceKind) return true;
  if (kind === namespaceKind && subresource === "" && operation !== "DELETE") return selects(selector, object);
  const namespace = cluster.get(namespaceKind, undefined, name);
  if (namespace === undefined) throw notFound(namespaceKind, name);
  return selects(selector, namespace);
}

/** Whether a selector selects the new or the old object. */
export function matchesObjectSelector(selector: LabelSelector | undefined, { object, old }: AdmissionRequest): boolean {
  return isEmptySelector(selector) || selects(selector, object) || selects(selector, old);
}

function isEmptySelector(selector: LabelSelector | undefined): selector is undefined {
  return Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
}

function selects(selector: LabelSelector, object: Readonly<ApiObject> | undefined): boolean {
  // The options of a connection have no metadata.
  return object?.metadata !== undefined && selectsLabels(selector, object.metadata.labels);
}
