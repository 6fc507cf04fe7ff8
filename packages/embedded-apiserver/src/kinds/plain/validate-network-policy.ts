import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { ApiObject, FieldError } from "../kind.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { cidrErrors, isStrictSubset } from "../validation/ip-addresses.ts";
import { each, labelSelectorErrors } from "../validation/labels.ts";
import { portNameProblems, portNumberProblems } from "../validation/names.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/networking/validation/validation.go. */

interface PolicyPort {
  readonly protocol?: string;
  readonly port?: number | string;
  readonly endPort?: number;
}

interface IpBlock {
  readonly cidr?: string;
  readonly except?: readonly string[];
}

interface Peer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: IpBlock;
}

interface PolicyRule {
  readonly ports?: readonly PolicyPort[];
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
}

interface PolicySpec {
  readonly podSelector?: LabelSelector;
  readonly ingress?: readonly PolicyRule[];
  readonly egress?: readonly PolicyRule[];
  readonly policyTypes?: readonly string[];
}

const policyTypes = ["Ingress", "Egress"];

export function networkPolicyErrors(policy: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: PolicySpec = policy["spec"];
  const existing = old === undefined ? [] : rangesOf(old["spec"]);
  return [
    ...labelSelectorErrors(spec.podSelector, "spec.podSelector"),
    ...(["ingress", "egress"] as const).flatMap((direction) =>
      (spec[direction] ?? []).flatMap((rule, index) => ruleErrors(rule, `spec.${direction}[${index}]`, existing)),
    ),
    ...policyTypeErrors(spec.policyTypes ?? []),
  ];
}

function rangesOf({ ingress = [], egress = [] }: PolicySpec): string[] {
  const peers = [...ingress, ...egress].flatMap(({ from = [], to = [] }) => [...from, ...to]);
  return peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock.cidr ?? "", ...(ipBlock.except ?? [])]));
}

function policyTypeErrors(types: readonly string[]): FieldError[] {
  if (types.length > policyTypes.length) return [invalidValue("spec.policyTypes", types, "may not specify more than two policyTypes")];
  return types.flatMap((type, index) =>
    policyTypes.includes(type) ? [] : [notSupported(`spec.policyTypes[${index}]`, type, policyTypes)],
  );
}

function ruleErrors({ ports = [], from = [], to = [] }: PolicyRule, field: string, existing: readonly string[]): FieldError[] {
  return [
    ...ports.flatMap((port, index) => portErrors(port, `${field}.ports[${index}]`)),
    ...from.flatMap((peer, index) => peerErrors(peer, `${field}.from[${index}]`, existing)),
    ...to.flatMap((peer, index) => peerErrors(peer, `${field}.to[${index}]`, existing)),
  ];
}

function portErrors({ protocol, port, endPort }: PolicyPort, field: string): FieldError[] {
  const protocols = ["TCP", "UDP", "SCTP"];
  return [
    ...(protocol === undefined || protocols.includes(protocol) ? [] : [notSupported(`${field}.protocol`, protocol, protocols)]),
    ...portNumberErrors(port, endPort, field),
  ];
}

function portNumberErrors(port: number | string | undefined, endPort: number | undefined, field: string): FieldError[] {
  if (port === undefined)
    return endPort === undefined ? [] : [invalidValue(`${field}.endPort`, endPort, "may not be specified when `port` is not specified")];
  if (typeof port === "string")
    return [
      ...(endPort === undefined ? [] : [invalidValue(`${field}.endPort`, endPort, "may not be specified when `port` is non-numeric")]),
      ...each(`${field}.port`, port, portNameProblems(port)),
    ];
  return [
    ...each(`${field}.port`, port, portNumberProblems(port)),
    ...(endPort !== undefined && endPort < port ? [invalidValue(`${field}.endPort`, port, "must be greater than or equal to `port`")] : []),
    ...(endPort === undefined ? [] : each(`${field}.endPort`, endPort, portNumberProblems(endPort))),
  ];
}

function peerErrors({ podSelector, namespaceSelector, ipBlock }: Peer, field: string, existing: readonly string[]): FieldError[] {
  const count = [podSelector, namespaceSelector, ipBlock].filter((part) => part !== undefined).length;
  return [
    ...labelSelectorErrors(podSelector, `${field}.podSelector`),
    ...labelSelectorErrors(namespaceSelector, `${field}.namespaceSelector`),
    ...(ipBlock === undefined ? [] : blockErrors(ipBlock, `${field}.ipBlock`, existing)),
    ...(count === 0 ? [required(field, "must specify a peer")] : []),
    ...(count > 1 && ipBlock !== undefined ? [forbiddenField(field, "may not specify both ipBlock and another peer")] : []),
  ];
}

function blockErrors({ cidr = "", except = [] }: IpBlock, field: string, existing: readonly string[]): FieldError[] {
  if (cidr === "") return [required(`${field}.cidr`)];
  const errors = cidrErrors(cidr, `${field}.cidr`, existing);
  if (errors.length > 0) return errors;
  return except.flatMap((range, index) => {
    const path = `${field}.except[${index}]`;
    const own = cidrErrors(range, path, existing);
    if (own.length > 0 || isStrictSubset(cidr, range)) return own;
    return [invalidValue(path, range, "must be a strict subset of `cidr`")];
  });
}
