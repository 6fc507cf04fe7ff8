import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import { endpointsKind, endpointSliceKind } from "../../kinds/plain/named-kinds.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { ServiceSpec } from "../../kinds/service/service-fields.ts";
import { serviceKind } from "../../kinds/service/service.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { isReady } from "../shared/pod-state.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { contentOf, managedByLabel, serviceNameLabel } from "./endpoint-fields.ts";
import { deleteSlice, isOwnedBy, sliceController, sliceLabels, writeEndpoints, writeSlices } from "./endpoint-writes.ts";
import { ServiceMembers } from "./service-members.ts";
import { addressesOf, addressTypesOf, hasEndpoints, hostnameOf, isOfType, podEndpoint, portsOf } from "./service-pods.ts";
import { type EndpointGroup, planSlices, portsKey, withHints } from "./slice-plan.ts";
import { type ReachableAddress, toSubsets } from "./subsets.ts";
import { TriggerTimes } from "./trigger-times.ts";

const zoneLabel = "topology.kubernetes.io/zone";
/** Services with more pods wait a millisecond for each pod before their endpoints are computed again, because that takes as long. */
const largeService = 50;
const longestWaitMs = 500;

/**
 * Writes the Endpoints and EndpointSlices of services with a selector. Without services, a change of a pod costs one look-up.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/endpoint and pkg/controller/endpointslice, and k8s.io/endpointslice v0.36.3.
 */
export function startEndpointsController(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const members = new ServiceMembers(cluster);
  const triggers = new TriggerTimes();
  /** Services with a pod on a node that does not exist, by node. */
  const waiting = new Map<string, Set<string>>();
  const slices = resources.use(
    new ObjectIndex(cluster, endpointSliceKind, ({ metadata: { namespace = "", labels = {} } }) =>
      labels[managedByLabel] === sliceController ? [`${namespace}/${labels[serviceNameLabel] ?? ""}`] : [],
    ),
  );
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(serviceKind, ({ type, object }) => observeService(object, type === "DELETED")));
  resources.use(cluster.watch(podKind, ({ type, object }) => observePod(object, type === "DELETED")));
  resources.use(cluster.watch(nodeKind, ({ type, object }) => type === "ADDED" && wakeWaiting(object.metadata.name)));
  resources.use(cluster.watch(endpointSliceKind, ({ type, object }) => type !== "ADDED" && observeSlice(object)));
  resources.use(cluster.watch(endpointsKind, ({ type, object }) => type !== "ADDED" && wakeOwn(keyOf(object))));
  for (const service of cluster.values(serviceKind)) observeService(service, false);
  return resources;

  function observeService(service: Readonly<ApiObject>, isDeleted: boolean): void {
    if (isDeleted) {
      members.removeService(service);
      triggers.forget(service);
    } else members.putService(service);
    queue.add(keyOf(service));
  }

  function observePod(pod: Readonly<ApiObject>, isDeleted: boolean): void {
    const { namespace = "" } = pod.metadata;
    for (const service of members.putPod(pod, isDeleted)) {
      const count = members.countOf(namespace, service);
      if (count <= largeService) queue.add(`${namespace}/${service}`);
      else queue.addAfter(`${namespace}/${service}`, Math.min(count, longestWaitMs));
    }
  }

  function wakeWaiting(node: string): void {
    for (const key of waiting.get(node) ?? []) queue.add(key);
    waiting.delete(node);
  }

  /** Repairs what somebody else changed. */
  function observeSlice({ metadata: { namespace = "", labels = {} } }: Readonly<ApiObject>): void {
    if (labels[managedByLabel] === sliceController) wakeOwn(`${namespace}/${labels[serviceNameLabel] ?? ""}`);
  }

  function wakeOwn(key: string): void {
    const { namespace, name } = parseKey(key);
    if (cluster.get(serviceKind, namespace, name) !== undefined) queue.add(key);
  }

  function sync(key: string): void {
    const { namespace, name } = parseKey(key);
    const service = cluster.get(serviceKind, namespace, name);
    if (service === undefined) return cluster.delete(endpointsKind, namespace, name);
    const { selector, type }: ServiceSpec = service["spec"];
    if (selector === undefined || type === "ExternalName") return;
    const pods = members.podsOf(namespace, name);
    const triggerTime = triggers.next(service, pods);
    syncEndpoints(service, pods, triggerTime);
    syncSlices(key, service, pods, triggerTime);
  }

  /** Source: pkg/controller/endpoint/endpoints_controller.go, `syncService`. */
  function syncEndpoints(service: Readonly<ApiObject>, pods: readonly Readonly<ApiObject>[], triggerTime: string | undefined): void {
    const spec: ServiceSpec = service["spec"];
    const { publishNotReadyAddresses = false } = spec;
    const [type = "IPv4"] = addressTypesOf(spec);
    const reachable = pods.flatMap((pod): ReachableAddress[] => {
      const ip = addressesOf(pod).find((address) => isOfType(address, type));
      const ports = portsOf(spec, pod);
      if (ip === undefined || !hasEndpoints(pod, publishNotReadyAddresses)) return [];
      if (ports.length === 0 && ((spec.ports?.length ?? 0) > 0 || spec.clusterIP !== "None")) return [];
      const { nodeName }: PodSpec = pod["spec"];
      const hostname = hostnameOf(pod, service);
      const { namespace = "", name, uid } = pod.metadata;
      const address = {
        ip,
        ...(hostname === undefined ? {} : { hostname }),
        ...(nodeName === undefined ? {} : { nodeName }),
        targetRef: { kind: "Pod", namespace, name, uid },
      };
      return [{ address, isReady: publishNotReadyAddresses || isReady(pod), ports }];
    });
    writeEndpoints(context, service, { subsets: toSubsets(reachable), triggerTime });
  }

  /** Source: k8s.io/endpointslice v0.36.3 reconciler.go, `Reconcile`. */
  function syncSlices(
    key: string,
    service: Readonly<ApiObject>,
    pods: readonly Readonly<ApiObject>[],
    triggerTime: string | undefined,
  ): void {
    const spec: ServiceSpec & { readonly trafficDistribution?: string } = service["spec"];
    const types = addressTypesOf(spec);
    const existing = slices.get(key);
    const owned = existing.filter((slice) => isOwnedBy(slice, service) && types.includes(contentOf(slice).addressType));
    for (const slice of existing) if (!owned.includes(slice)) deleteSlice(cluster, slice);
    const labels = sliceLabels(service);
    for (const type of types) {
      const groups = new Map<string, EndpointGroup & { readonly endpoints: ReturnType<typeof podEndpoint>[] }>();
      for (const pod of pods) {
        if (!hasEndpoints(pod, true) || !isNodeKnown(key, pod, spec)) continue;
        const ports = portsOf(spec, pod);
        const node: Readonly<ApiObject> | undefined = cluster.get(nodeKind, undefined, pod["spec"].nodeName ?? "");
        const endpoint = withHints(podEndpoint(pod, service, { type, zone: node?.metadata.labels?.[zoneLabel] }), spec.trafficDistribution);
        const group = groups.get(portsKey(ports)) ?? { addressType: type, ports, endpoints: [] };
        groups.set(portsKey(ports), group);
        if (endpoint.addresses.length > 0) group.endpoints.push(endpoint);
      }
      const ofType = owned.filter((slice) => contentOf(slice).addressType === type);
      writeSlices(context, service, { changes: planSlices(type, [...groups.values()], ofType), labels, existing: ofType, triggerTime });
    }
  }

  /** Whether the pod's node exists; otherwise the service is looked at again when it does. */
  function isNodeKnown(key: string, pod: Readonly<ApiObject>, { publishNotReadyAddresses = false }: ServiceSpec): boolean {
    const { nodeName = "" }: PodSpec = pod["spec"];
    if (publishNotReadyAddresses || cluster.get(nodeKind, undefined, nodeName) !== undefined) return true;
    const keys = waiting.get(nodeName) ?? new Set<string>();
    waiting.set(nodeName, keys.add(key));
    return false;
  }
}
