import { isIPv6 } from "node:net";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { PodSpec, PodStatus } from "../../kinds/pod/pod-fields.ts";
import type { ServiceSpec } from "../../kinds/service/service-fields.ts";
import { isReady, isTerminal } from "../shared/pod-state.ts";
import type { AddressType, EndpointPort, SliceEndpoint } from "./endpoint-fields.ts";

/** Source of this file: k8s.io/endpointslice v0.36.3 utils.go and util/controller_utils.go. */

/** Whether a pod of a service has endpoints. */
export function hasEndpoints(pod: Readonly<ApiObject>, includeTerminating: boolean): boolean {
  if (isTerminal(pod) || addressesOf(pod).length === 0) return false;
  return includeTerminating || pod.metadata.deletionTimestamp === undefined;
}

/** Addresses of a pod. */
export function addressesOf(pod: Readonly<ApiObject>): readonly string[] {
  const { podIP, podIPs = [] }: PodStatus = pod["status"];
  const all = podIPs.flatMap(({ ip }) => (ip === undefined || ip === "" ? [] : [ip]));
  return all.length === 0 && podIP !== undefined && podIP !== "" ? [podIP] : all;
}

/** Address families of a service. */
export function addressTypesOf({ ipFamilies = [] }: ServiceSpec): readonly AddressType[] {
  const types = ipFamilies.filter((family): family is AddressType => family === "IPv4" || family === "IPv6");
  return types.length === 0 ? ["IPv4"] : types;
}

export function isOfType(address: string, type: AddressType): boolean {
  return isIPv6(address) === (type === "IPv6");
}

export function isHeadless({ clusterIP }: ServiceSpec): boolean {
  return clusterIP === undefined || clusterIP === "" || clusterIP === "None";
}

/** Ports of a pod for a service; named target ports may differ between pods. */
export function portsOf({ ports = [] }: ServiceSpec, pod: Readonly<ApiObject>): readonly EndpointPort[] {
  return ports.flatMap((servicePort): EndpointPort[] => {
    const { name = "", protocol = "TCP", targetPort, port, appProtocol } = servicePort;
    const number = findPort(pod, targetPort ?? port, protocol);
    return number === undefined ? [] : [{ name, port: number, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

function findPort(pod: Readonly<ApiObject>, target: string | number, protocol: string): number | undefined {
  if (typeof target === "number") return target;
  const { containers, initContainers = [] }: PodSpec = pod["spec"];
  for (const { ports = [] } of [...(containers ?? []), ...initContainers.filter(isSidecar)]) {
    const found = ports.find(({ name, protocol: own = "TCP" }) => name === target && own === protocol);
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}

/** Host name of a pod's endpoint; `undefined` unless the service is the pod's subdomain. */
export function hostnameOf(pod: Readonly<ApiObject>, service: Readonly<ApiObject>): string | undefined {
  const { hostname, subdomain }: PodSpec = pod["spec"];
  return hostname !== undefined && hostname !== "" && subdomain === service.metadata.name ? hostname : undefined;
}

/** Endpoint of a pod. @param zone - zone of its node */
export function podEndpoint(
  pod: Readonly<ApiObject>,
  service: Readonly<ApiObject>,
  { type, zone }: { readonly type: AddressType; readonly zone: string | undefined },
): SliceEndpoint {
  const { publishNotReadyAddresses = false }: ServiceSpec = service["spec"];
  const { namespace = "", name, uid, deletionTimestamp } = pod.metadata;
  const { nodeName }: PodSpec = pod["spec"];
  const serving = isReady(pod);
  const terminating = deletionTimestamp !== undefined;
  const hostname = hostnameOf(pod, service);
  return {
    addresses: addressesOf(pod).filter((address) => isOfType(address, type)),
    conditions: { ready: publishNotReadyAddresses || (serving && !terminating), serving, terminating },
    ...(hostname === undefined ? {} : { hostname }),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zone === undefined ? {} : { zone }),
  };
}
