import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { contentOf, type AddressType, type EndpointPort, type SliceContent, type SliceEndpoint } from "./endpoint-fields.ts";

/** Maximum number of endpoints in a slice. Source: kube-controller-manager's `--max-endpoints-per-slice`. */
const mostEndpoints = 100;

/** Desired endpoints of a service that have the same ports. */
export interface EndpointGroup {
  readonly addressType: AddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly SliceEndpoint[];
}

/** Changes of a service's slices. */
export interface SliceChanges {
  readonly created: readonly SliceContent[];
  readonly updated: readonly { readonly slice: Readonly<ApiObject>; readonly content: SliceContent }[];
  readonly deleted: readonly Readonly<ApiObject>[];
}

/** Key of ports in any order. */
export function portsKey(ports: readonly EndpointPort[]): string {
  return JSON.stringify(
    ports.map(({ name, port, protocol, appProtocol }) => JSON.stringify([name, port, protocol, appProtocol])).toSorted(),
  );
}

/**
 * Distributes a service's endpoints of one address type over its slices: endpoints stay in their slice, and new ones fill changed slices first,
 * then one other, then new slices. Without endpoints one slice without ports remains.
 *
 * Source: k8s.io/endpointslice v0.36.3 reconciler.go, `reconcileByAddressType`, `reconcileByPortMapping` and `finalize`.
 *
 * @param existing - slices that the service owns
 */
export function planSlices(
  addressType: AddressType,
  groups: readonly EndpointGroup[],
  existing: readonly Readonly<ApiObject>[],
): SliceChanges {
  const byPorts = new Map<string, Readonly<ApiObject>[]>();
  for (const slice of existing) {
    const key = portsKey(contentOf(slice).ports);
    byPorts.set(key, [...(byPorts.get(key) ?? []), slice]);
  }
  const created: SliceContent[] = [];
  const updated: { slice: Readonly<ApiObject>; content: SliceContent }[] = [];
  const deleted: Readonly<ApiObject>[] = [];
  for (const group of groups) {
    const key = portsKey(group.ports);
    const changes = planGroup(group, byPorts.get(key) ?? []);
    byPorts.delete(key);
    created.push(...changes.created);
    updated.push(...changes.updated);
    deleted.push(...changes.deleted);
  }
  for (const slices of byPorts.values()) deleted.push(...slices);
  if (existing.length === deleted.length && created.length === 0) {
    const [placeholder] = deleted;
    const isThere = deleted.length === 1 && placeholder !== undefined && isPlaceholder(placeholder);
    if (isThere) deleted.length = 0;
    else created.push({ addressType, ports: [], endpoints: [] });
  }
  // A slice that would be deleted gets the content of one that would be created.
  while (created.length > 0 && deleted.length > 0) {
    const slice = deleted.shift();
    const content = created.pop();
    if (slice !== undefined && content !== undefined) updated.push({ slice, content });
  }
  return { created, updated, deleted };
}

function isPlaceholder(slice: Readonly<ApiObject>): boolean {
  const { ports, endpoints } = contentOf(slice);
  return ports.length === 0 && endpoints.length === 0;
}

function planGroup({ addressType, ports, endpoints }: EndpointGroup, existing: readonly Readonly<ApiObject>[]): SliceChanges {
  const desired = new Map(endpoints.map((endpoint) => [identityOf(endpoint), endpoint]));
  const changed: { slice: Readonly<ApiObject>; endpoints: SliceEndpoint[] }[] = [];
  const unchanged: Readonly<ApiObject>[] = [];
  const deleted: Readonly<ApiObject>[] = [];
  for (const slice of existing) {
    const before = contentOf(slice).endpoints;
    const kept = before.flatMap((endpoint) => {
      const key = identityOf(endpoint);
      const wanted = desired.get(key);
      desired.delete(key);
      return wanted === undefined ? [] : [wanted];
    });
    if (equalJson(kept, before)) unchanged.push(slice);
    else if (kept.length === 0) deleted.push(slice);
    else changed.push({ slice, endpoints: kept });
  }
  const left = [...desired.values()];
  for (const each of changed.toSorted((a, b) => b.endpoints.length - a.endpoints.length))
    each.endpoints.push(...left.splice(0, mostEndpoints - each.endpoints.length));
  const created: SliceContent[] = [];
  while (left.length > 0) {
    const fitting = left.length >= mostEndpoints ? undefined : fullest(unchanged, left.length);
    if (fitting === undefined) created.push({ addressType, ports, endpoints: left.splice(0, mostEndpoints) });
    else changed.push({ slice: fitting, endpoints: [...contentOf(fitting).endpoints, ...left.splice(0)] });
  }
  return {
    created,
    updated: changed.map(({ slice, endpoints: content }) => ({ slice, content: { addressType, ports, endpoints: content } })),
    deleted,
  };
}

/** The slice that is closest to full with so many endpoints more. Source: `getSliceToFill`. */
function fullest(slices: readonly Readonly<ApiObject>[], count: number): Readonly<ApiObject> | undefined {
  const room = (slice: Readonly<ApiObject>): number => mostEndpoints - contentOf(slice).endpoints.length - count;
  const [first] = slices.filter((slice) => room(slice) >= 0).toSorted((a, b) => room(a) - room(b));
  return first;
}

/** Source: util/endpointset.go, `hashEndpoint`. */
function identityOf({ addresses, hostname = "", targetRef }: SliceEndpoint): string {
  return JSON.stringify([addresses, hostname, targetRef?.namespace ?? "", targetRef?.name ?? ""]);
}

/**
 * Adds the hints of `spec.trafficDistribution`. Source: k8s.io/endpointslice v0.36.3 trafficdist/trafficdist.go.
 *
 * @returns the endpoint itself if it gets no hint
 */
export function withHints(endpoint: SliceEndpoint, trafficDistribution: string | undefined): SliceEndpoint {
  if (!["PreferClose", "PreferSameZone", "PreferSameNode"].includes(trafficDistribution ?? "") || !endpoint.conditions.ready)
    return endpoint;
  const hints = {
    ...(endpoint.zone === undefined ? {} : { forZones: [{ name: endpoint.zone }] }),
    ...(endpoint.nodeName === undefined || trafficDistribution !== "PreferSameNode" ? {} : { forNodes: [{ name: endpoint.nodeName }] }),
  };
  return Object.keys(hints).length === 0 ? endpoint : { ...endpoint, hints };
}
