import type { ApiObject } from "../kind.ts";
import type { ServiceSpec } from "./service-fields.ts";

/**
 * Warnings about fields of a service that are deprecated or have no effect. Those about addresses in unusual forms are missing.
 *
 * Source: Kubernetes v1.36.3 pkg/api/service/warnings.go.
 */
export function serviceWarnings({ metadata, spec }: Readonly<ApiObject>): readonly string[] {
  const {
    type,
    clusterIP,
    externalIPs = [],
    externalName = "",
    loadBalancerIP = "",
    sessionAffinity,
    trafficDistribution,
  }: ServiceSpec = spec;
  const isHeadless = type === "ClusterIP" && clusterIP === "None";
  const isExternalName = type === "ExternalName";
  const hasExternalIps = externalIPs.length > 0;
  const topology = "service.kubernetes.io/topology";
  const found: readonly (readonly [isFound: boolean, warning: string])[] = [
    [
      metadata.annotations?.[`${topology}-aware-hints`] !== undefined,
      `annotation ${topology}-aware-hints is deprecated, please use ${topology}-mode instead`,
    ],
    [isHeadless && loadBalancerIP !== "", "spec.loadBalancerIP is ignored for headless services"],
    [isHeadless && hasExternalIps, "spec.externalIPs is ignored for headless services"],
    [isHeadless && sessionAffinity !== "None", "spec.SessionAffinity is ignored for headless services"],
    [hasExternalIps && !isHeadless && !isExternalName, "spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
    [hasExternalIps && isExternalName, 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [externalName !== "" && !isExternalName, 'spec.externalName is ignored when spec.type is not "ExternalName"'],
    [trafficDistribution === "PreferClose", 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
  ];
  return found.filter(([isFound]) => isFound).map(([, warning]) => warning);
}
