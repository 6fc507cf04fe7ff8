import type { DeepReadonly, OwnerReference, Service } from "@virtual-kubelet/kube-client";
import { shortHash } from "../identity/short-hash.ts";
import { tagAnnotations } from "../identity/tags.ts";
import { digestAnnotation, isMirrored, ownPrefix, type MirrorRef } from "./mirror-tags.ts";

/** How the copies in one namespace are marked. */
export interface CopyMarks {
  /** Distinguishes mirrors that write to the same namespace. */
  readonly scope: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
}

/** The same object with its digest, and without fields that are `undefined`. */
export function withDigest<T extends { metadata?: { annotations?: Record<string, string> | undefined } | undefined }>(object: T): T {
  const digest = shortHash(JSON.stringify(object));
  return { ...object, metadata: { ...object.metadata, annotations: { ...object.metadata?.annotations, [digestAnnotation]: digest } } };
}

/** Metadata of a copy. */
export function copyMetadata(
  target: MirrorRef,
  source: DeepReadonly<Service["metadata"]>,
  marks: CopyMarks,
): NonNullable<Service["metadata"]> {
  return {
    ...target,
    labels: { ...marks.labels },
    annotations: { ...marks.annotations, [tagAnnotations.copyOf]: `${source?.namespace}/${source?.name}` },
    ...(marks.ownerReferences && { ownerReferences: [...marks.ownerReferences] }),
  };
}

/** Whether a Service is mirrored at all: the API server's own and what a mirror wrote are not. */
export function isMirrorable({ metadata }: DeepReadonly<Service>): boolean {
  return !isMirrored(metadata) && !(metadata?.namespace === "default" && metadata.name === "kubernetes");
}

/** The Service as the other cluster gets it: the same name and ports, without what belongs to one cluster. */
export function mirroredService(
  source: DeepReadonly<Service>,
  namespace: string,
  marks: CopyMarks,
  carriesLabel: (key: string) => boolean,
): Service {
  const { metadata } = source;
  const own = Object.entries(metadata?.labels ?? {}).filter(([key]) => !key.startsWith(ownPrefix) && carriesLabel(key));
  const labels = { ...Object.fromEntries(own), ...marks.labels };
  return withDigest({
    apiVersion: "v1",
    kind: "Service",
    metadata: copyMetadata({ namespace, name: metadata?.name ?? "" }, metadata, { ...marks, labels }),
    spec: mirroredSpec(source.spec),
  });
}

/** What of a Service cannot be changed into another: with an address, without one, or a name of DNS. */
export function serviceForm({ spec }: DeepReadonly<Service>): "address" | "headless" | "externalName" {
  if (spec?.type === "ExternalName") return "externalName";
  return spec?.clusterIP === "None" ? "headless" : "address";
}

function mirroredSpec(spec: DeepReadonly<Service["spec"]>): NonNullable<Service["spec"]> {
  const ports = (spec?.ports ?? []).map(({ name, port, protocol, targetPort, appProtocol }) => ({
    ...(name && { name }),
    port,
    ...(protocol && { protocol }),
    // Without a selector it is only shown to people.
    ...(targetPort !== undefined && { targetPort }),
    ...(appProtocol && { appProtocol }),
  }));
  const form = serviceForm({ spec });
  if (form === "externalName") return { type: "ExternalName", externalName: spec?.externalName, ...(ports.length > 0 && { ports }) };
  return {
    type: "ClusterIP",
    ...(ports.length > 0 && { ports }),
    ...(form === "headless" ? { clusterIP: "None" } : ipFamilies(spec)),
    ...(spec?.publishNotReadyAddresses && { publishNotReadyAddresses: true }),
    ...(spec?.sessionAffinity === "ClientIP" && {
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800 } },
    }),
  };
}

/**
 * The endpoints have addresses of the source's families. A Service of one family keeps it, because an address of another family would have no
 * endpoints; one of both gets what the other cluster has.
 */
function ipFamilies(spec: DeepReadonly<Service["spec"]>): Pick<NonNullable<Service["spec"]>, "ipFamilies" | "ipFamilyPolicy"> {
  const [family, second] = spec?.ipFamilies ?? [];
  if (family === undefined) return {};
  return second === undefined ? { ipFamilyPolicy: "SingleStack", ipFamilies: [family] } : { ipFamilyPolicy: "PreferDualStack" };
}
