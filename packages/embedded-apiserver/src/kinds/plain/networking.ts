import type { ApiObject, Kind, WriteContext } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { formatLabelSelector } from "../../selectors/label-selector-text.ts";
import { canonicalIpProblems } from "../validation/ip-addresses.ts";
import { plainKind, textColumn } from "./plain-kind.ts";
import { ipAddressErrors, serviceCidrErrors } from "./validate-addresses.ts";
import { ingressClassErrors, ingressErrors } from "./validate-ingress.ts";
import { networkPolicyErrors } from "./validate-network-policy.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/networking, pkg/registry/networking and pkg/printers/internalversion. */

const group = "networking.k8s.io";
const defaultClassAnnotation = "ingressclass.kubernetes.io/is-default-class";

const ingressClassKind: Kind = plainKind({
  group,
  kind: "IngressClass",
  plural: "ingressclasses",
  namespaced: false,
  counted: ["spec"],
  applyDefaults({ spec }) {
    if (spec.parameters !== undefined) spec.parameters.scope ??= "Cluster";
  },
  validate: ingressClassErrors,
  columns: [
    {
      ...nameColumn,
      cell: ({ metadata }) => `${metadata.name}${metadata.annotations?.[defaultClassAnnotation] === "true" ? " (default)" : ""}`,
    },
    textColumn("Controller", "Controller that is responsible for handling this class", ({ spec }) => spec.controller),
    textColumn("Parameters", "A reference to a resource with additional parameters", ({ spec }) => parametersOf(spec.parameters)),
    ageColumn,
  ],
});

/** Ingresses, network policies and address ranges. They are stored, but have no effect. */
export const networkingKinds: readonly Kind[] = [
  plainKind({
    group,
    kind: "Ingress",
    plural: "ingresses",
    shortNames: ["ing"],
    namespaced: true,
    hasStatus: true,
    counted: ["spec"],
    prepareForCreate: setDefaultClass,
    validate: ingressErrors,
    columns: [
      nameColumn,
      textColumn(
        "Class",
        "The name of the IngressClass resource that should be used for additional configuration",
        ({ spec }) => spec.ingressClassName ?? "<none>",
      ),
      textColumn("Hosts", "Hosts that incoming requests are matched against before the ingress rule", ({ spec }) =>
        hostsOf(spec.rules ?? []),
      ),
      textColumn("Address", "Address is a list containing ingress points for the load-balancer", ({ status }) =>
        addressesOf(status.loadBalancer?.ingress ?? []),
      ),
      textColumn("Ports", "Ports of TLS configurations that open", ({ spec }) => ((spec.tls ?? []).length > 0 ? "80, 443" : "80")),
      ageColumn,
    ],
  }),
  ingressClassKind,
  plainKind({
    group,
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    shortNames: ["netpol"],
    namespaced: true,
    counted: ["spec"],
    applyDefaults({ spec }) {
      for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) for (const port of rule.ports ?? []) port.protocol ??= "TCP";
      if ((spec.policyTypes ?? []).length === 0) spec.policyTypes = (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
    },
    validate: networkPolicyErrors,
    columns: [
      nameColumn,
      textColumn(
        "Pod-Selector",
        "podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network policies can select the same set of pods. In this case, the ingress rules for each are combined additively. This field is optional. If it is not specified, it defaults to an empty selector.",
        ({ spec }) => formatLabelSelector(spec.podSelector) || "<none>",
      ),
      ageColumn,
    ],
  }),
  plainKind({
    group,
    kind: "IPAddress",
    plural: "ipaddresses",
    shortNames: ["ip"],
    namespaced: false,
    counted: ["spec"],
    nameProblems: canonicalIpProblems,
    validate: ipAddressErrors,
    columns: [
      nameColumn,
      textColumn(
        "ParentRef",
        "ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object.",
        ({ spec }) => parentOf(spec.parentRef),
      ),
      ageColumn,
    ],
  }),
  plainKind({
    group,
    kind: "ServiceCIDR",
    plural: "servicecidrs",
    namespaced: false,
    hasStatus: true,
    counted: ["spec"],
    validate: serviceCidrErrors,
    columns: [
      nameColumn,
      textColumn(
        "CIDRs",
        'CIDRs defines the IP blocks in CIDR notation (e.g. "192.168.0.0/24" or "2001:db8::/64") from which to assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This field is immutable.',
        ({ spec }) => (spec.cidrs ?? []).join(","),
      ),
      ageColumn,
    ],
  }),
];

/** Sets the newest default class. Source: Kubernetes v1.36.3 plugin/pkg/admission/network/defaultingressclass. */
function setDefaultClass({ metadata, spec }: ApiObject, { cluster }: WriteContext): void {
  if (spec.ingressClassName !== undefined || metadata.annotations?.["kubernetes.io/ingress.class"] !== undefined) return;
  const classes = cluster.list(ingressClassKind).filter((one) => one.metadata.annotations?.[defaultClassAnnotation] === "true");
  const [newest] = classes.toSorted(({ metadata: a }, { metadata: b }) =>
    a.creationTimestamp === b.creationTimestamp ? (a.name < b.name ? -1 : 1) : a.creationTimestamp > b.creationTimestamp ? -1 : 1,
  );
  if (newest !== undefined) spec.ingressClassName = newest.metadata.name;
}

function hostsOf(rules: readonly { readonly host?: string }[]): string {
  const limit = 3;
  const hosts = rules.slice(0, limit).flatMap(({ host }) => (host === undefined || host === "" ? [] : [host]));
  if (hosts.length === 0) return "*";
  const list = hosts.join(",");
  return hosts.length === limit && rules.length > limit ? `${list} + ${rules.length - limit} more...` : list;
}

function addressesOf(ingress: readonly { readonly ip?: string; readonly hostname?: string }[]): string {
  return [...new Set(ingress.map(({ ip, hostname }) => ip ?? hostname ?? "").filter((address) => address !== ""))].toSorted().join(",");
}

function parametersOf(parameters: ApiObject["spec"]): string {
  if (parameters === undefined) return "<none>";
  return `${parameters.kind}${parameters.apiGroup === undefined ? "" : `.${parameters.apiGroup}`}/${parameters.name}`;
}

function parentOf(parent: ApiObject["spec"]): string {
  if (parent === undefined) return "<none>";
  const resource = `${parent.resource}${parent.group === undefined ? "" : `.${parent.group}`}`.toLowerCase();
  return [resource, ...(parent.namespace === undefined ? [] : [parent.namespace]), parent.name].join("/");
}
