import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { ownValue } from "../own-value.ts";
import { ipsOf, onePerFamily } from "../pod-addresses.ts";
import { missingConfig, unknownYet } from "./config-error.ts";
import { goQuote } from "./go-quote.ts";

/** What is known of a pod's place besides its object. */
export interface PodPlace {
  /** The node's addresses, its main one first. */
  readonly hostIPs: readonly string[];
  /** The pod's addresses, if the caller knows them before the API server does. Default: those in the pod's status. */
  readonly podIPs?: readonly string[] | undefined;
}

/**
 * The value of a downward API field, as a kubelet gives it: of all paths that `fieldRef` takes, in environment
 * variables and in volumes.
 * Source: podFieldSelectorRuntimeValue in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go, pkg/fieldpath.
 *
 * @throws InvalidInputError for a path that is none
 * @throws UnavailableError for an address the pod, or the node, does not have yet
 */
export function resolveFieldRef(fieldPath: string, pod: DeepReadonly<Pod>, place: PodPlace): string {
  const [, path = "", key = ""] = /^(.+?)\['(.*)'\]$/s.exec(fieldPath) ?? [];
  if (path) return mapEntry(fieldPath, path, key, pod);
  const { metadata, spec } = pod;
  switch (fieldPath) {
    case "metadata.name":
      return metadata?.name ?? "";
    case "metadata.namespace":
      return metadata?.namespace ?? "";
    case "metadata.uid":
      return metadata?.uid ?? "";
    case "metadata.labels":
      return formatMap(metadata?.labels ?? {});
    case "metadata.annotations":
      return formatMap(metadata?.annotations ?? {});
    case "spec.nodeName":
    case "spec.host":
      return spec?.nodeName ?? "";
    case "spec.serviceAccountName":
      return spec?.serviceAccountName ?? "";
    case "status.hostIP":
      return nodeAddresses(place)[0] ?? "";
    case "status.hostIPs":
      return nodeAddresses(place).join(",");
    case "status.podIP":
      return podAddresses(fieldPath, pod, place)[0] ?? "";
    case "status.podIPs":
      return podAddresses(fieldPath, pod, place).join(",");
    default:
      throw missingConfig(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** A map as the downward API writes it: one `key="value"` a line, sorted by key. */
export function formatMap(map: Readonly<Record<string, string>>): string {
  const entries = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, value]) => `${key}=${goQuote(value)}`).join("\n");
}

function mapEntry(fieldPath: string, path: string, key: string, { metadata }: DeepReadonly<Pod>): string {
  if (path !== "metadata.labels" && path !== "metadata.annotations") throw missingConfig(`fieldPath "${fieldPath}" does not support subscript`);
  const isQualified = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
  if (!isQualified.test(path === "metadata.annotations" ? key.toLowerCase() : key)) throw missingConfig(`invalid key subscript in ${fieldPath}`);
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
