import type { DeepReadonly, Pod, PolicyAnnotation } from "@virtual-kubelet/core";

/** Annotations of a pod, by purpose. Those outside `aci.virtual-kubelet.io` are the original provider's. */
export const annotations = {
  /** Resource group of the pod: `resourceGroup` or one of `otherResourceGroups`. */
  resourceGroup: "aci.virtual-kubelet.io/resource-group",
  /** Resource id of a subnet, instead of the configured one. */
  subnetId: "aci.virtual-kubelet.io/subnet-id",
  /** `system`, resource ids of user-assigned identities, or both, separated by commas. */
  identities: "aci.virtual-kubelet.io/identities",
  /** Pairs `SERVER=IDENTITY`, separated by commas: managed identities that pull images from registries. */
  registryIdentities: "aci.virtual-kubelet.io/registry-identities",
  /** `Standard`, `Dedicated` or `Confidential`. */
  sku: "aci.virtual-kubelet.io/sku",
  /** `Regular` or `Spot`. */
  priority: "aci.virtual-kubelet.io/priority",
  /** Availability zones, separated by commas. */
  zones: "aci.virtual-kubelet.io/zones",
  /** Resource id of a standby pool. */
  standbyPool: "aci.virtual-kubelet.io/standby-pool",
  /** Resource id of a container group profile, optionally followed by `@REVISION`. */
  profile: "aci.virtual-kubelet.io/container-group-profile",
  /** Label of the public address's DNS name. */
  dnsNameLabel: "virtualkubelet.io/dnsnamelabel",
  /** `Unsecure`, `TenantReuse`, `SubscriptionReuse`, `ResourceGroupReuse` or `Noreuse`: who may take the DNS label over. */
  dnsNameLabelScope: "aci.virtual-kubelet.io/dns-name-label-scope",
  /** `confidential`. */
  originalSku: "virtual-kubelet.io/container-sku",
  /** Confidential computing enforcement policy, base64. */
  ccePolicy: "virtual-kubelet.io/confidential-compute-cce-policy",
  /** Model of the GPU: `K80`, `P100` or `V100`. */
  gpuType: "virtual-kubelet.io/gpu-type",
} as const;

/** Annotations by which a pod gets something of the subscription: the policy has to allow their values. */
export const policyAnnotations: readonly PolicyAnnotation[] = [
  { name: annotations.resourceGroup },
  { name: annotations.subnetId },
  { name: annotations.identities, separator: "," },
  { name: annotations.registryIdentities, separator: "," },
  { name: annotations.sku },
  { name: annotations.originalSku },
  { name: annotations.ccePolicy },
  { name: annotations.standbyPool },
  { name: annotations.profile },
  { name: annotations.dnsNameLabel },
];

/** Returns an annotation's value without surrounding spaces; `undefined` if it is absent or empty. */
export function annotationOf(pod: DeepReadonly<Pod>, name: string): string | undefined {
  return pod.metadata?.annotations?.[name]?.trim() || undefined;
}

/** Returns the entries of a list that is separated by commas. */
export function listOf(pod: DeepReadonly<Pod>, name: string): readonly string[] {
  return (annotationOf(pod, name) ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

/** Returns an annotation's path, as in messages. */
export function annotationPath(name: string): string {
  return `metadata.annotations['${name}']`;
}
