import { isIPv4, isIPv6 } from "node:net";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { domainNameErrors } from "../validation/domain-names.ts";
import { duplicate, invalidValue, notSupported, required, tooMany } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { canonicalIpErrors, endpointIpErrors, ipErrors } from "../validation/ip-addresses.ts";
import { each, labelNameErrors, labelsErrors } from "../validation/labels.ts";
import { labelValueProblems } from "../validation/label-syntax.ts";
import { dnsLabelProblems, dnsSubdomainProblems, portNumberProblems } from "../validation/names.ts";

/**
 * Source of this file: Kubernetes v1.36.3 pkg/apis/discovery/validation/validation.go and pkg/apis/core/validation/validation.go,
 * ValidateEndpoints. Endpoints that an update does not change are not validated again.
 */

interface Endpoint {
  readonly addresses?: readonly string[];
  readonly nodeName?: string;
  readonly hostname?: string;
  readonly deprecatedTopology?: Readonly<Record<string, string>>;
  readonly hints?: { readonly forZones?: readonly Named[]; readonly forNodes?: readonly Named[] };
}

interface Named {
  readonly name: string;
}

interface Port {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
  readonly appProtocol?: string;
}

interface Subset {
  readonly addresses?: readonly SubsetAddress[];
  readonly notReadyAddresses?: readonly SubsetAddress[];
  readonly ports?: readonly Port[];
}

interface SubsetAddress {
  readonly ip?: string;
  readonly hostname?: string;
  readonly nodeName?: string;
}

const limits = { topologyLabels: 16, addresses: 100, ports: 20_000, endpoints: 1000, hints: 8 };
const addressTypes = ["FQDN", "IPv4", "IPv6"];
const protocols = ["SCTP", "TCP", "UDP"];

export function endpointSliceErrors(slice: ApiObject, old: ApiObject | undefined): FieldError[] {
  const { addressType = "", endpoints = [], ports = [] }: Partial<ApiObject> = slice;
  const isUnchanged = old !== undefined && equalJson(old["endpoints"] ?? [], endpoints);
  return [
    ...addressTypeErrors(addressType),
    ...slicePortErrors(ports),
    ...(isUnchanged ? [] : endpointsErrors(endpoints, addressType)),
    ...(old === undefined ? [] : immutableErrors(addressType, old["addressType"], "addressType")),
  ];
}

function addressTypeErrors(type: string): FieldError[] {
  if (type === "") return [required("addressType")];
  return addressTypes.includes(type) ? [] : [notSupported("addressType", type, addressTypes)];
}

function slicePortErrors(ports: readonly Port[]): FieldError[] {
  if (ports.length > limits.ports) return [tooMany("ports", ports.length, limits.ports)];
  const names = ports.map(({ name = "" }) => name);
  return ports.flatMap(({ name = "", protocol = "", appProtocol }, index) => {
    const field = `ports[${index}]`;
    return [
      ...(name === "" ? [] : each(`${field}.name`, name, dnsLabelProblems(name))),
      ...(names.indexOf(name) < index ? [duplicate(`${field}.name`, name)] : []),
      ...(protocols.includes(protocol) ? [] : [notSupported(`${field}.protocol`, protocol, protocols)]),
      ...(appProtocol === undefined ? [] : labelNameErrors(appProtocol, `${field}.appProtocol`)),
    ];
  });
}

function endpointsErrors(endpoints: readonly Endpoint[], addressType: string): FieldError[] {
  if (endpoints.length > limits.endpoints) return [tooMany("endpoints", endpoints.length, limits.endpoints)];
  return endpoints.flatMap((endpoint, index) => endpointErrors(endpoint, addressType, `endpoints[${index}]`));
}

function endpointErrors(endpoint: Endpoint, addressType: string, field: string): FieldError[] {
  const { addresses = [], nodeName, hostname, deprecatedTopology = {}, hints = {} } = endpoint;
  const path = `${field}.addresses`;
  const topologyCount = Object.keys(deprecatedTopology).length;
  return [
    ...(addresses.length === 0 ? [required(path, "must contain at least 1 address")] : []),
    ...(addresses.length > limits.addresses ? [tooMany(path, addresses.length, limits.addresses)] : []),
    ...addresses.flatMap((address, index) => addressErrors(address, addressType, `${path}[${index}]`)),
    ...(nodeName === undefined ? [] : each(`${field}.nodeName`, nodeName, dnsSubdomainProblems(nodeName))),
    ...(topologyCount > limits.topologyLabels ? [tooMany(`${field}.deprecatedTopology`, topologyCount, limits.topologyLabels)] : []),
    ...labelsErrors(deprecatedTopology, `${field}.deprecatedTopology`),
    ...(hostname === undefined ? [] : each(`${field}.hostname`, hostname, dnsLabelProblems(hostname))),
    ...hintErrors(hints.forZones ?? [], `${field}.hints.forZones`, labelValueProblems),
    ...hintErrors(hints.forNodes ?? [], `${field}.hints.forNodes`, dnsSubdomainProblems),
  ];
}

function addressErrors(address: string, type: string, field: string): FieldError[] {
  const list = field.slice(0, field.lastIndexOf("["));
  switch (type) {
    case "IPv4":
      return familyErrors(ipErrors(address, field), isIPv4(address), [list, field, address, "must be an IPv4 address"]);
    case "IPv6":
      return familyErrors(canonicalIpErrors(address, field), isIPv6(address), [list, field, address, "must be an IPv6 address"]);
    case "FQDN":
      return domainNameErrors(address, field);
    default:
      return [];
  }
}

function familyErrors(
  errors: readonly FieldError[],
  isFamily: boolean,
  [list, field, address, problem]: readonly [list: string, field: string, address: string, problem: string],
): FieldError[] {
  if (errors.length > 0) return [...errors];
  return [...(isFamily ? [] : [invalidValue(list, address, problem)]), ...endpointIpErrors(address, field)];
}

function hintErrors(hints: readonly Named[], field: string, problemsOf: (name: string) => string[]): FieldError[] {
  if (hints.length > limits.hints) return [tooMany(field, hints.length, limits.hints)];
  const names = hints.map(({ name }) => name);
  return names.flatMap((name, index) => [
    ...(names.indexOf(name) < index ? [duplicate(`${field}[${index}].name`, name)] : []),
    ...each(`${field}[${index}].name`, name, problemsOf(name)),
  ]);
}

export function endpointSubsetsErrors(endpoints: ApiObject, old: ApiObject | undefined): FieldError[] {
  const subsets: readonly Subset[] = endpoints["subsets"] ?? [];
  if (old !== undefined && equalJson(old["subsets"] ?? [], subsets)) return [];
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }, index) => {
    const field = `subsets[${index}]`;
    const isEmpty = addresses.length === 0 && notReadyAddresses.length === 0;
    return [
      ...(isEmpty ? [required(field, "must specify `addresses` or `notReadyAddresses`")] : []),
      ...addresses.flatMap((address, at) => subsetAddressErrors(address, `${field}.addresses[${at}]`)),
      ...notReadyAddresses.flatMap((address, at) => subsetAddressErrors(address, `${field}.notReadyAddresses[${at}]`)),
      ...ports.flatMap((port, at) => subsetPortErrors(port, ports.length > 1, `${field}.ports[${at}]`)),
    ];
  });
}

function subsetAddressErrors({ ip = "", hostname = "", nodeName }: SubsetAddress, field: string): FieldError[] {
  return [
    ...ipErrors(ip, `${field}.ip`),
    ...(hostname === "" ? [] : each(`${field}.hostname`, hostname, dnsLabelProblems(hostname))),
    ...(nodeName === undefined ? [] : each(`${field}.nodeName`, nodeName, dnsSubdomainProblems(nodeName))),
    ...endpointIpErrors(ip, `${field}.ip`),
  ];
}

function subsetPortErrors({ name = "", port = 0, protocol = "", appProtocol }: Port, isNameRequired: boolean, field: string): FieldError[] {
  return [
    ...(isNameRequired && name === "" ? [required(`${field}.name`)] : []),
    ...(name === "" ? [] : each(`${field}.name`, name, dnsLabelProblems(name))),
    ...each(`${field}.port`, port, portNumberProblems(port)),
    ...(protocols.includes(protocol) ? [] : [notSupported(`${field}.protocol`, protocol, protocols)]),
    ...(appProtocol === undefined ? [] : labelNameErrors(appProtocol, `${field}.appProtocol`)),
  ];
}
