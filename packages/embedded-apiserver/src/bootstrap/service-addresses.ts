import type { Clock } from "@virtual-kubelet/clock";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../kinds/kind.ts";
import { ipAddressKind, serviceCidrKind } from "../kinds/plain/named-kinds.ts";
import type { ServiceSpec } from "../kinds/service/service-fields.ts";
import { serviceKind } from "../kinds/service/service.ts";
import type { Cluster } from "../rest/cluster.ts";

/**
 * Creates the range `kubernetes` of cluster IPs, and keeps an IPAddress for each cluster IP of a service.
 *
 * Source: Kubernetes v1.36.3 pkg/controlplane/controller/defaultservicecidr and pkg/registry/core/service/ipallocator.
 */
export function maintainServiceAddresses(
  cluster: Cluster,
  { clock, range: cidr }: { readonly clock: Clock; readonly range: string },
): Disposable {
  const name = "kubernetes";
  cluster.create(serviceCidrKind, { metadata: { name }, spec: { cidrs: [cidr] } });
  const ready = {
    type: "Ready",
    status: "True",
    lastTransitionTime: rfc3339(clock.now()),
    reason: "",
    message: "Kubernetes default Service CIDR is ready",
  };
  cluster.update(serviceCidrKind, undefined, name, (range) => ({ ...range, status: { conditions: [ready] } }), "status");
  /** Addresses by the service's UID. */
  const held = new Map<string, readonly string[]>();
  const follow = (service: Readonly<ApiObject>, wanted: readonly string[]): void => {
    const { uid, namespace, name: serviceName } = service.metadata;
    const before = held.get(uid) ?? [];
    for (const address of before) if (!wanted.includes(address)) cluster.delete(ipAddressKind, undefined, address);
    for (const address of wanted)
      if (!before.includes(address) && cluster.get(ipAddressKind, undefined, address) === undefined)
        cluster.create(ipAddressKind, ipAddress(address, { namespace, name: serviceName }));
    if (wanted.length === 0) held.delete(uid);
    else held.set(uid, wanted);
  };
  const watch = cluster.watch(serviceKind, ({ type, object }) => follow(object, type === "DELETED" ? [] : addressesOf(object)));
  for (const service of cluster.values(serviceKind)) follow(service, addressesOf(service));
  return watch;
}

function addressesOf(service: Readonly<ApiObject>): readonly string[] {
  const { type, clusterIPs = [] }: ServiceSpec = service["spec"];
  return type === "ExternalName" ? [] : clusterIPs.filter((address) => address !== "None" && address !== "");
}

function ipAddress(address: string, service: { readonly namespace: string | undefined; readonly name: string }): object {
  return {
    metadata: {
      name: address,
      labels: { "ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" },
    },
    spec: { parentRef: { resource: "services", ...service } },
  };
}
