/** A port of a service. */
export interface ServicePort {
  name?: string;
  protocol?: string;
  appProtocol?: string;
  port: number;
  targetPort?: number | string;
  nodePort?: number;
}

/** The spec of a service. */
export interface ServiceSpec {
  ports?: ServicePort[];
  selector?: Record<string, string>;
  clusterIP?: string;
  clusterIPs?: string[];
  type?: string;
  externalIPs?: string[];
  sessionAffinity?: string;
  sessionAffinityConfig?: { clientIP?: { timeoutSeconds?: number } };
  loadBalancerIP?: string;
  loadBalancerSourceRanges?: string[];
  externalName?: string;
  externalTrafficPolicy?: string;
  healthCheckNodePort?: number;
  publishNotReadyAddresses?: boolean;
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  allocateLoadBalancerNodePorts?: boolean;
  loadBalancerClass?: string;
  internalTrafficPolicy?: string;
}

/** The status of a service. */
export interface ServiceStatus {
  loadBalancer: { ingress?: { ip?: string; hostname?: string; ipMode?: string }[] };
}

/** Whether a service of this type has an address in the cluster, or could. */
export function needsClusterIp({ type }: ServiceSpec): boolean {
  return type !== "ExternalName";
}

/** Whether the server gives each port of the service one on the nodes. */
export function needsNodePorts(spec: ServiceSpec): boolean {
  return spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);
}

/** Whether the service has a port for health checks of its own. */
export function needsHealthCheckPort(spec: ServiceSpec): boolean {
  return spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
}

/** Whether clients outside of the cluster reach the service through its own addresses or ports. */
export function isExternallyAccessible(spec: ServiceSpec): boolean {
  return spec.type === "LoadBalancer" || spec.type === "NodePort" || (spec.type === "ClusterIP" && (spec.externalIPs?.length ?? 0) > 0);
}
