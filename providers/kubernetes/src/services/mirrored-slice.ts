import type { DeepReadonly, EndpointSlice } from "@virtual-kubelet/kube-client";
import { mirroredSliceName } from "../identity/names.ts";
import { copyMetadata, withDigest, type CopyMarks } from "./mirrored-service.ts";

/** Label by which an EndpointSlice belongs to a Service. */
export const serviceNameLabel = "kubernetes.io/service-name";
const managedByLabel = "endpointslice.kubernetes.io/managed-by";
const headlessLabel = "service.kubernetes.io/headless";

/** Value of `endpointslice.kubernetes.io/managed-by`; no controller of Kubernetes touches such slices. */
const sliceManager = "virtual-kubelet.io";

/** Endpoints as the other cluster sees them. One slice for each of the source's, so that a change of one endpoint changes one slice. */
export function mirroredSlice(
  source: DeepReadonly<EndpointSlice>,
  target: { readonly namespace: string; readonly isHeadless: boolean },
  marks: CopyMarks,
  translate: (address: string) => string | undefined,
): EndpointSlice {
  const { metadata, addressType, ports } = source;
  const serviceName = metadata?.labels?.[serviceNameLabel] ?? "";
  const labels = {
    [serviceNameLabel]: serviceName,
    [managedByLabel]: sliceManager,
    ...(target.isHeadless && { [headlessLabel]: "" }),
    ...marks.labels,
  };
  // The name depends on the address type, which cannot be changed.
  const name = mirroredSliceName(marks.scope, { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", addressType });
  return withDigest({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: copyMetadata({ namespace: target.namespace, name }, metadata, { ...marks, labels }),
    addressType,
    endpoints: mirroredEndpoints(source, addressType === "FQDN" ? (address) => address : translate),
    ports: (ports ?? []).map(({ name: portName, port, protocol, appProtocol }) => ({
      ...(portName && { name: portName }),
      ...(port !== undefined && { port }),
      ...(protocol && { protocol }),
      ...(appProtocol && { appProtocol }),
    })),
  });
}

/**
 * Without node, zone, hints and reference to the pod, which mean nothing in the other cluster. An endpoint that the other cluster cannot reach
 * is left out.
 */
function mirroredEndpoints(
  { endpoints }: DeepReadonly<EndpointSlice>,
  translate: (address: string) => string | undefined,
): EndpointSlice["endpoints"] {
  return (endpoints ?? []).flatMap(({ addresses, conditions = {}, hostname }) => {
    const reachable = addresses.map(translate).filter((address) => address !== undefined);
    if (reachable.length === 0) return [];
    const { ready, serving, terminating } = conditions;
    const known = Object.entries({ ready, serving, terminating }).filter(([, value]) => value !== undefined);
    return [{ addresses: reachable, conditions: Object.fromEntries(known), ...(hostname && { hostname }) }];
  });
}
