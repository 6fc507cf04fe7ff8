import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isQualifiedName, ownValue } from "@virtual-kubelet/kubernetes";
import { ipsOf, onePerFamily } from "../pod/status/pod-addresses.ts";
import { missingConfig, unknownYet } from "./config-error.ts";
import { goQuote } from "./go-quote.ts";

/** Values for fields that are not in the pod's object. */
export interface PodPlace {
  /** The node's addresses, the main one first. */
  readonly hostIPs: readonly string[];
  /** The pod's addresses, if the caller knows them before the API server does. Default: those in the pod's status. */
  readonly podIPs?: readonly string[] | undefined;
}

/**
 * Returns the value of a downward API field, as a kubelet does, for all paths that `fieldRef` supports in environment
 * variables and in volumes.
 * Source: podFieldSelectorRuntimeValue in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go, pkg/fieldpath.
 *
 * @throws InvalidInputError for an unknown path
 * @throws UnavailableError for an address that the pod or the node does not have yet
 */
export function resolveFieldRef(fieldPath: string, pod: DeepReadonly<Pod>, place: PodPlace): string {
  const [, path = "", key = ""] = /^(.+?)\['(.*)'\]$/s.exec(fieldPath) ?? [];
  if (path) return mapEntry(fieldPath, path, key, pod);
  if (!Object.hasOwn(fields, fieldPath)) throw missingConfig(`unsupported fieldPath: ${fieldPath}`);
  return fields[fieldPath]?.(pod, place) ?? "";
}

/** The value of each path; an absent value is an empty string. */
const fields: Readonly<Record<string, (pod: DeepReadonly<Pod>, place: PodPlace) => string | undefined>> = {
  "metadata.name": ({ metadata }) => metadata?.name,
  "metadata.namespace": ({ metadata }) => metadata?.namespace,
  "metadata.uid": ({ metadata }) => metadata?.uid,
  "metadata.labels": ({ metadata }) => formatMap(metadata?.labels ?? {}),
  "metadata.annotations": ({ metadata }) => formatMap(metadata?.annotations ?? {}),
  "spec.nodeName": ({ spec }) => spec?.nodeName,
  "spec.host": ({ spec }) => spec?.nodeName,
  "spec.serviceAccountName": ({ spec }) => spec?.serviceAccountName,
  "status.hostIP": (_, place) => nodeAddresses(place)[0],
  "status.hostIPs": (_, place) => nodeAddresses(place).join(","),
  "status.podIP": (pod, place) => podAddresses("status.podIP", pod, place)[0],
  "status.podIPs": (pod, place) => podAddresses("status.podIPs", pod, place).join(","),
};

/** Formats a map like the downward API: one `key="value"` a line, sorted by key. */
export function formatMap(map: Readonly<Record<string, string>>): string {
  const entries = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, value]) => `${key}=${goQuote(value)}`).join("\n");
}

function mapEntry(fieldPath: string, path: string, key: string, { metadata }: DeepReadonly<Pod>): string {
  if (path !== "metadata.labels" && path !== "metadata.annotations")
    throw missingConfig(`fieldPath "${fieldPath}" does not support subscript`);
  if (!isQualifiedName(path === "metadata.annotations" ? key.toLowerCase() : key))
    throw missingConfig(`invalid key subscript in ${fieldPath}`);
  const map = path === "metadata.labels" ? metadata?.labels : metadata?.annotations;
  return ownValue(map, key) ?? "";
}

function nodeAddresses({ hostIPs }: PodPlace): readonly string[] {
  const addresses = onePerFamily(hostIPs);
  if (addresses.length === 0) throw unknownYet("the pod asks for status.hostIP, and its node has no address: give the node one");
  return addresses;
}

function podAddresses(fieldPath: string, pod: DeepReadonly<Pod>, place: PodPlace): readonly string[] {
  const onHost = pod.spec?.hostNetwork ? place.hostIPs : [];
  const choices = [onePerFamily(place.podIPs ?? []), ipsOf(pod.status ?? {}), onePerFamily(onHost)];
  const addresses = choices.find((ips) => ips.length > 0);
  if (!addresses) throw unknownYet(`the pod asks for ${fieldPath}, and has no address yet`);
  return addresses;
}
