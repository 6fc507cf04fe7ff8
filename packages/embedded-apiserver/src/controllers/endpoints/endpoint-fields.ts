import type { ApiObject } from "../../kinds/kind.ts";

/** Source of this file: Kubernetes v1.36.3 staging/src/k8s.io/api/discovery/v1/types.go and core/v1/types.go. */

export const serviceNameLabel = "kubernetes.io/service-name";
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
export const headlessLabel = "service.kubernetes.io/headless";
export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

export interface EndpointPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

interface TargetReference {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** An endpoint of an EndpointSlice. */
export interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  readonly hostname?: string;
  readonly targetRef?: TargetReference;
  readonly nodeName?: string;
  readonly zone?: string;
  readonly hints?: object;
}

export type AddressType = "IPv4" | "IPv6";

/** An EndpointSlice to write; the name is absent for a new one. */
export interface SliceContent {
  readonly addressType: AddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly SliceEndpoint[];
}

/** A stored EndpointSlice with the fields of {@link SliceContent}. */
export function contentOf(slice: Readonly<ApiObject>): SliceContent {
  return { addressType: slice["addressType"], ports: slice["ports"] ?? [], endpoints: slice["endpoints"] ?? [] };
}

/** An address of an Endpoints object. */
export interface EndpointAddress {
  readonly ip: string;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef?: TargetReference;
}

export interface EndpointSubset {
  readonly addresses?: readonly EndpointAddress[];
  readonly notReadyAddresses?: readonly EndpointAddress[];
  readonly ports?: readonly EndpointPort[];
}
