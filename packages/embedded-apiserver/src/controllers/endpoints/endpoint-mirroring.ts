import { isIP, isIPv6 } from "node:net";
import { Disposables } from "../../resources/disposables.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { endpointsKind, endpointSliceKind } from "../../kinds/plain/named-kinds.ts";
import { serviceKind } from "../../kinds/service/service.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerReference } from "../shared/ownership.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import {
  contentOf,
  type AddressType,
  type EndpointAddress,
  type EndpointPort,
  type EndpointSubset,
  managedByLabel,
  serviceNameLabel,
  type SliceContent,
  type SliceEndpoint,
  triggerTimeAnnotation,
} from "./endpoint-fields.ts";
import { deleteSlice, sameLabels, slicePrefix, tryCreate } from "./endpoint-writes.ts";
import { portsKey } from "./slice-plan.ts";

const component = "endpoint-slice-mirroring-controller";
const mirrorController = "endpointslicemirroring-controller.k8s.io";
/** Source: kube-controller-manager's `--mirroring-max-endpoints-per-subset`. */
const mostMirrored = 1000;
/** Annotations that are not mirrored. */
const unmirrored: ReadonlySet<string> = new Set([triggerTimeAnnotation, "kubectl.kubernetes.io/last-applied-configuration"]);

/**
 * Copies Endpoints of services without a selector, which somebody else writes, into EndpointSlices.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/endpointslicemirroring.
 */
export function startEndpointMirroring(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const slices = resources.use(
    new ObjectIndex(cluster, endpointSliceKind, ({ metadata: { namespace = "", labels = {} } }) =>
      labels[managedByLabel] === mirrorController ? [`${namespace}/${labels[serviceNameLabel] ?? ""}`] : [],
    ),
  );
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(endpointsKind, ({ object }) => queue.add(keyOf(object))));
  resources.use(cluster.watch(serviceKind, ({ object }) => queue.add(keyOf(object))));
  resources.use(
    cluster.watch(endpointSliceKind, ({ object: { metadata } }) => {
      if (metadata.labels?.[managedByLabel] === mirrorController)
        queue.add(`${metadata.namespace ?? ""}/${metadata.labels[serviceNameLabel] ?? ""}`);
    }),
  );
  for (const endpoints of cluster.values(endpointsKind)) queue.add(keyOf(endpoints));
  return resources;

  function sync(key: string): void {
    const { namespace, name } = parseKey(key);
    const endpoints = cluster.get(endpointsKind, namespace, name);
    const service = cluster.get(serviceKind, namespace, name);
    const existing = slices.get(key);
    if (endpoints === undefined || !isMirrored(endpoints) || service === undefined || service["spec"].selector !== undefined) {
      for (const slice of existing) deleteSlice(cluster, slice);
      return;
    }
    const { contents, skipped, invalid } = mirroredContents(endpoints);
    warn(endpoints, skipped, invalid);
    const left = [...existing];
    const created: SliceContent[] = [];
    for (const content of contents) {
      const at = left.findIndex((slice) => isSameGroup(contentOf(slice), content));
      const [slice] = at < 0 ? [] : left.splice(at, 1);
      if (slice === undefined) created.push(content);
      else update(slice, endpoints, content);
    }
    for (const content of created) {
      const at = left.findIndex((slice) => slice["addressType"] === content.addressType);
      const [slice] = at < 0 ? [] : left.splice(at, 1);
      if (slice !== undefined) update(slice, endpoints, content);
      else if (!tryCreate(cluster, newSlice(endpoints, content))) return;
    }
    for (const slice of left) deleteSlice(cluster, slice);
  }

  function warn(endpoints: Readonly<ApiObject>, skipped: number, invalid: number): void {
    const record = (reason: string, message: string): void =>
      context.events.record(component, endpoints, { type: "Warning", reason, message });
    if (invalid > 0) record("InvalidIPAddress", `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`);
    if (skipped > invalid)
      record(
        "TooManyAddressesToMirror",
        `A max of ${mostMirrored} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`,
      );
  }

  function update(slice: Readonly<ApiObject>, endpoints: Readonly<ApiObject>, content: SliceContent): void {
    const { namespace, name, labels, annotations } = slice.metadata;
    const { metadata: wanted } = newSlice(endpoints, content);
    const isSame = equalJson(contentOf(slice), content) && sameLabels(labels, wanted.labels) && sameLabels(annotations, wanted.annotations);
    if (isSame) return;
    cluster.update(endpointSliceKind, namespace, name, (latest) => {
      const { annotations: _old, ...metadata } = latest.metadata;
      const isBare = Object.keys(wanted.annotations).length === 0;
      return {
        ...latest,
        metadata: { ...metadata, labels: wanted.labels, ...(isBare ? {} : { annotations: wanted.annotations }) },
        ports: content.ports,
        endpoints: content.endpoints,
      };
    });
  }
}

function isMirrored({ metadata: { labels = {}, annotations = {} } }: Readonly<ApiObject>): boolean {
  return (
    labels["endpointslice.kubernetes.io/skip-mirror"] !== "true" && annotations["control-plane.alpha.kubernetes.io/leader"] === undefined
  );
}

function isSameGroup(a: SliceContent, b: SliceContent): boolean {
  return a.addressType === b.addressType && portsKey(a.ports) === portsKey(b.ports);
}

function newSlice(endpoints: Readonly<ApiObject>, content: SliceContent) {
  const { namespace, name, labels = {}, annotations = {} } = endpoints.metadata;
  return {
    metadata: {
      generateName: slicePrefix(name),
      namespace,
      labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: mirrorController },
      annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !unmirrored.has(key))),
      ownerReferences: [controllerReference(endpointsKind, endpoints)],
    },
    ...content,
  };
}

/** Slices of an Endpoints object: one for each set of ports and address type. Source: reconciler.go, `reconcile`. */
function mirroredContents(endpoints: Readonly<ApiObject>): {
  readonly contents: readonly SliceContent[];
  readonly skipped: number;
  readonly invalid: number;
} {
  const subsets: readonly EndpointSubset[] = endpoints["subsets"] ?? [];
  const groups = new Map<string, SliceContent & { readonly endpoints: SliceEndpoint[] }>();
  let [skipped, invalid] = [0, 0];
  for (const { addresses = [], notReadyAddresses = [], ports: given = [] } of subsets) {
    const ports = given.map(portOf);
    const all = [
      ...addresses.map((address) => ({ address, ready: true })),
      ...notReadyAddresses.map((address) => ({ address, ready: false })),
    ];
    let added = 0;
    for (const { address, ready } of all) {
      const isValid = isIP(address.ip) !== 0;
      if (!isValid) invalid++;
      if (!isValid || added >= mostMirrored) {
        skipped++;
        continue;
      }
      added++;
      const addressType: AddressType = isIPv6(address.ip) ? "IPv6" : "IPv4";
      const key = `${addressType} ${portsKey(ports)}`;
      const group = groups.get(key) ?? { addressType, ports, endpoints: [] };
      groups.set(key, group);
      group.endpoints.push(mirroredEndpoint(address, ready));
    }
  }
  return { contents: [...groups.values()], skipped, invalid };
}

function mirroredEndpoint({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): SliceEndpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === undefined || hostname === "" ? {} : { hostname }),
    ...(targetRef === undefined ? {} : { targetRef }),
    ...(nodeName === undefined ? {} : { nodeName }),
  };
}

function portOf({ name = "", port, protocol = "TCP", appProtocol }: Partial<EndpointPort> & Pick<EndpointPort, "port">): EndpointPort {
  return { name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) };
}
