import { isIP } from "node:net";
import type { ApiObject, FieldError } from "../kind.ts";
import { domainPrefixedPathErrors, wildcardSubdomainProblems } from "../validation/domain-names.ts";
import { forbiddenField, invalidValue, notSupported, required, tooLong } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { ipErrors } from "../validation/ip-addresses.ts";
import { each } from "../validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems, pathSegmentProblems, portNameProblems, portNumberProblems } from "../validation/names.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/networking/validation/validation.go. */

interface Backend {
  readonly service?: { readonly name: string; readonly port?: { readonly name?: string; readonly number?: number } };
  readonly resource?: TypedReference;
}

interface TypedReference {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
}

interface HttpPath {
  readonly path?: string;
  readonly pathType?: string;
  readonly backend: Backend;
}

interface Rule {
  readonly host?: string;
  readonly http?: { readonly paths?: readonly HttpPath[] };
}

interface IngressSpec {
  readonly ingressClassName?: string;
  readonly defaultBackend?: Backend;
  readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
  readonly rules?: readonly Rule[];
}

interface LoadBalancerIngress {
  readonly ip?: string;
  readonly hostname?: string;
}

const classAnnotation = "kubernetes.io/ingress.class";
const controllerLimit = 250;

export function ingressErrors(ingress: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: IngressSpec = ingress["spec"];
  if (old !== undefined && old["spec"] === spec) return statusErrors(balancersOf(ingress), balancersOf(old));
  const annotation = ingress.metadata.annotations?.[classAnnotation];
  const isContradicted =
    old === undefined && annotation !== undefined && spec.ingressClassName !== undefined && annotation !== spec.ingressClassName;
  return [
    ...specErrors(spec),
    ...(isContradicted
      ? [invalidValue(`annotations.${classAnnotation}`, annotation, "must match `ingressClassName` when both are specified")]
      : []),
  ];
}

function specErrors(spec: IngressSpec): FieldError[] {
  const { rules = [], tls = [], defaultBackend, ingressClassName } = spec;
  return [
    ...(rules.length === 0 && defaultBackend === undefined
      ? [invalidValue("spec", null, "either `defaultBackend` or `rules` must be specified")]
      : []),
    ...(defaultBackend === undefined ? [] : backendErrors(defaultBackend, "spec.defaultBackend")),
    ...rules.flatMap((rule, index) => ruleErrors(rule, `spec.rules[${index}]`)),
    ...tls.flatMap(({ hosts = [], secretName = "" }, index) => [
      ...hosts.flatMap((host, at) => each(`spec.tls[${index}].hosts[${at}]`, host, hostProblems(host))),
      ...(secretName === "" ? [] : each(`spec.tls[${index}].secretName`, secretName, dnsSubdomainProblems(secretName))),
    ]),
    ...(ingressClassName === undefined ? [] : each("spec.ingressClassName", ingressClassName, dnsSubdomainProblems(ingressClassName))),
  ];
}

function hostProblems(host: string): string[] {
  return host.includes("*") ? wildcardSubdomainProblems(host) : dnsSubdomainProblems(host);
}

function ruleErrors({ host = "", http }: Rule, field: string): FieldError[] {
  const { paths = [] } = http ?? {};
  return [
    ...(isIP(host) === 0 ? [] : [invalidValue(`${field}.host`, host, "must be a DNS name, not an IP address")]),
    ...(host === "" ? [] : each(`${field}.host`, host, hostProblems(host))),
    ...(http !== undefined && paths.length === 0 ? [required(`${field}.http.paths`)] : []),
    ...paths.flatMap((path, index) => pathErrors(path, `${field}.http.paths[${index}]`)),
  ];
}

function pathErrors({ path = "", pathType, backend }: HttpPath, field: string): FieldError[] {
  if (pathType === undefined || pathType === null) return [required(`${field}.pathType`, "pathType must be specified")];
  return [...pathTextErrors(path, pathType, field), ...backendErrors(backend, `${field}.backend`)];
}

function pathTextErrors(path: string, pathType: string, field: string): FieldError[] {
  const problems: string[] = [];
  if (pathType === "Exact" || pathType === "Prefix") {
    if (!path.startsWith("/")) problems.push("must be an absolute path");
    for (const part of ["//", "/./", "/../", "%2f", "%2F"]) if (path.includes(part)) problems.push(`must not contain '${part}'`);
    for (const end of ["/..", "/."]) if (path.endsWith(end)) problems.push(`cannot end with '${end}'`);
  } else if (pathType !== "ImplementationSpecific") {
    return [notSupported(`${field}.pathType`, pathType, ["Exact", "ImplementationSpecific", "Prefix"])];
  } else if (path !== "" && !path.startsWith("/")) {
    problems.push("must be an absolute path");
  }
  return each(`${field}.path`, path, problems);
}

function backendErrors({ service, resource }: Backend, field: string): FieldError[] {
  if (service !== undefined && resource !== undefined) return [invalidValue(field, "", "cannot set both resource and service backends")];
  if (resource !== undefined) return referenceErrors(resource, `${field}.resource`);
  if (service === undefined) return [invalidValue(field, "", "resource or service backend is required")];
  const { name, port: { name: portName = "", number = 0 } = {} } = service;
  return [
    ...(name === "" ? [required(`${field}.service.name`)] : each(`${field}.service.name`, name, dnsLabelProblems(name))),
    ...portErrors(portName, number, field),
  ];
}

function portErrors(name: string, number: number, field: string): FieldError[] {
  if (name !== "" && number !== 0) return [invalidValue(field, "", "cannot set both port name & port number")];
  if (name !== "") return each(`${field}.service.port.name`, name, portNameProblems(name));
  if (number !== 0) return each(`${field}.service.port.number`, number, portNumberProblems(number));
  return [required(field, "port name or number is required")];
}

function referenceErrors({ apiGroup, kind, name }: TypedReference, field: string): FieldError[] {
  return [
    ...(apiGroup === undefined ? [] : each(`${field}.apiGroup`, apiGroup, dnsSubdomainProblems(apiGroup))),
    ...segmentErrors(kind, `${field}.kind`),
    ...segmentErrors(name, `${field}.name`),
  ];
}

/** A required segment of a path. */
export function segmentErrors(value: string | undefined, field: string): FieldError[] {
  return value === undefined || value === "" ? [required(field)] : each(field, value, pathSegmentProblems(value));
}

function balancersOf({ status }: ApiObject): readonly LoadBalancerIngress[] {
  return status?.loadBalancer?.ingress ?? [];
}

function statusErrors(ingress: readonly LoadBalancerIngress[], old: readonly LoadBalancerIngress[]): FieldError[] {
  const existing = old.flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
  return ingress.flatMap(({ ip = "", hostname = "" }, index) => {
    const field = `status.loadBalancer.ingress[${index}]`;
    return [
      ...(ip === "" ? [] : ipErrors(ip, `${field}.ip`, existing)),
      ...(hostname === "" ? [] : each(`${field}.hostname`, hostname, dnsSubdomainProblems(hostname))),
      ...(isIP(hostname) === 0 ? [] : [invalidValue(`${field}.hostname`, hostname, "must be a DNS name, not an IP address")]),
    ];
  });
}

export function ingressClassErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const { controller = "", parameters }: { controller?: string; parameters?: ClassParameters } = object["spec"];
  const field = "spec.controller";
  return [
    ...(old === undefined ? [] : immutableErrors(controller, old["spec"].controller ?? "", field)),
    ...(controller.length > controllerLimit ? [tooLong(field, controllerLimit)] : []),
    ...domainPrefixedPathErrors(controller, field),
    ...(parameters === undefined ? [] : parameterErrors(parameters, "spec.parameters")),
  ];
}

interface ClassParameters extends TypedReference {
  readonly scope?: string;
  readonly namespace?: string;
}

function parameterErrors(parameters: ClassParameters, field: string): FieldError[] {
  const { scope = "", namespace } = parameters;
  return [...referenceErrors(parameters, field), ...scopeErrors(scope, namespace, field)];
}

function scopeErrors(scope: string, namespace: string | undefined, field: string): FieldError[] {
  switch (scope) {
    case "Namespace":
      return namespace === undefined
        ? [required(`${field}.namespace`, "`parameters.scope` is set to 'Namespace'")]
        : each(`${field}.namespace`, namespace, dnsLabelProblems(namespace));
    case "Cluster":
      return namespace === undefined ? [] : [forbiddenField(`${field}.namespace`, "`parameters.scope` is set to 'Cluster'")];
    default:
      return [notSupported(`${field}.scope`, scope, ["Cluster", "Namespace"])];
  }
}
