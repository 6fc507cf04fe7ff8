import { isIP, isIPv6 } from "node:net";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { portErrors } from "../pod/validate-probes.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each, labelsErrors } from "../validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems, ipProblems, portNumberProblems } from "../validation/names.ts";
import { isExternallyAccessible, needsHealthCheckPort, type ServicePort, type ServiceSpec } from "./service-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, validateService and its siblings. */

const protocols = ["SCTP", "TCP", "UDP"];
const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const affinities = ["ClientIP", "None"];
const trafficPolicies = ["Cluster", "Local"];
const trafficDistributions: readonly string[] = ["PreferClose", "PreferSameZone", "PreferSameNode"];

function isHeadless({ clusterIPs = [] }: ServiceSpec): boolean {
  return clusterIPs.length === 1 && clusterIPs[0] === "None";
}

export function serviceErrors(service: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: ServiceSpec = service["spec"];
  const errors = old === undefined ? [] : updateErrors(spec, old["spec"]);
  if (old !== undefined && old["spec"] === spec) return errors;
  return [
    ...errors,
    ...typeErrors(spec),
    ...(spec.ports ?? []).flatMap((port, index) => portFieldErrors(port, spec, index)),
    ...labelsErrors(spec.selector, "spec.selector"),
    ...affinityErrors(spec),
    ...addressErrors(spec),
    ...(spec.externalIPs ?? []).flatMap((ip, index) => externalIpErrors(ip, `spec.externalIPs[${index}]`)),
    ...(types.includes(spec.type ?? "") ? [] : [notSupported("spec.type", spec.type ?? "", types)]),
    ...portConflicts(spec),
    ...loadBalancerErrors(spec),
    ...trafficErrors(spec),
  ];
}

function typeErrors(spec: ServiceSpec): FieldError[] {
  const { type, ports = [], externalName = "" } = spec;
  const errors = ports.length === 0 && !isHeadless(spec) && type !== "ExternalName" ? [required("spec.ports")] : [];
  if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(spec))
    errors.push(invalidValue("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`));
  if (type !== "ExternalName") return errors;
  for (const name of ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] as const)
    if (spec[name] !== undefined) errors.push(forbiddenField(`spec.${name}`, "may not be set for ExternalName services"));
  const name = externalName.replace(/\.$/, "");
  return [...errors, ...(name === "" ? [required("spec.externalName")] : each("spec.externalName", name, dnsSubdomainProblems(name)))];
}

function portFieldErrors(
  { name = "", port, protocol = "", targetPort = 0, appProtocol }: ServicePort,
  { ports = [] }: ServiceSpec,
  index: number,
): FieldError[] {
  const path = `spec.ports[${index}]`;
  const isTaken = name !== "" && ports.slice(0, index).some((other) => other.name === name);
  return [
    ...(name === "" ? (ports.length > 1 ? [required(`${path}.name`)] : []) : each(`${path}.name`, name, dnsLabelProblems(name))),
    ...(isTaken ? [duplicate(`${path}.name`, name)] : []),
    ...each(`${path}.port`, port, portNumberProblems(port)),
    ...(protocols.includes(protocol) ? [] : [notSupported(`${path}.protocol`, protocol, protocols)]),
    ...portErrors(targetPort, `${path}.targetPort`),
    ...(appProtocol === undefined ? [] : each(`${path}.appProtocol`, appProtocol, labelKeyProblems(appProtocol))),
  ];
}

function affinityErrors({ sessionAffinity = "", sessionAffinityConfig }: ServiceSpec): FieldError[] {
  const errors = affinities.includes(sessionAffinity) ? [] : [notSupported("spec.sessionAffinity", sessionAffinity, affinities)];
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (sessionAffinity === "ClientIP" && seconds !== undefined && (seconds <= 0 || seconds > 86_400)) {
    errors.push(invalidValue("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, "must be greater than 0 and less than 86400"));
  }
  if (sessionAffinity === "None" && sessionAffinityConfig !== undefined)
    errors.push(forbiddenField("spec.sessionAffinityConfig", "must not be set when session affinity is None"));
  return errors;
}

/** Problems with the cluster IPs and their families. Source: `ValidateServiceClusterIPsRelatedFields`. */
export function addressErrors(spec: ServiceSpec): FieldError[] {
  const { type, clusterIP, clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  if (type === "ExternalName") return [];
  const errors: FieldError[] = [];
  if (clusterIP === undefined && clusterIPs.length > 0)
    errors.push(invalidValue("spec.clusterIPs", clusterIPs, "must be empty when `clusterIP` is not specified"));
  if (clusterIP !== undefined && clusterIPs[0] !== clusterIP)
    errors.push(
      clusterIPs.length === 0
        ? required("spec.clusterIPs")
        : invalidValue("spec.clusterIPs", clusterIPs, "first value must match `clusterIP`"),
    );
  for (const [index, family] of ipFamilies.entries()) {
    if (family !== "IPv4" && family !== "IPv6") errors.push(notSupported(`spec.ipFamilies[${index}]`, family, ["IPv4", "IPv6"]));
    if (ipFamilies.indexOf(family) < index) errors.push(duplicate(`spec.ipFamilies[${index}]`, family));
  }
  const policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy))
    errors.push(notSupported("spec.ipFamilyPolicy", ipFamilyPolicy, policies));
  const wrong = clusterIPs.flatMap((ip, index) => {
    if (index > 0 || ip !== "None") return each(`spec.clusterIPs[${index}]`, ip, ipProblems(ip));
    return clusterIPs.length > 1 ? [invalidValue("spec.clusterIPs", clusterIPs, "'None' must be the first and only value")] : [];
  });
  errors.push(...wrong);
  if (clusterIPs.length > 2) errors.push(invalidValue("spec.clusterIPs", clusterIPs, "may only hold up to 2 values"));
  if (wrong.length > 0) return errors;
  if (clusterIPs.length > 1 && new Set(clusterIPs.map((ip) => isIPv6(ip))).size < 2)
    errors.push(invalidValue("spec.clusterIPs", clusterIPs, "may specify no more than one IP for each IP family"));
  return [...errors, ...(isHeadless(spec) ? [] : familyErrors(clusterIPs, ipFamilies))];
}

function familyErrors(clusterIPs: readonly string[], ipFamilies: readonly string[]): FieldError[] {
  return clusterIPs.flatMap((ip, index) => {
    const family = ipFamilies[index];
    if (family === undefined || isIPv6(ip) === (family === "IPv6")) return [];
    return [invalidValue(`spec.clusterIPs[${index}]`, ip, `expected an ${family} value as indicated by \`ipFamilies[${index}]\``)];
  });
}

function externalIpErrors(ip: string, field: string): FieldError[] {
  if (isIP(ip) === 0) return each(field, ip, ipProblems(ip));
  if (ip === "0.0.0.0" || ip === "::") return [invalidValue(field, ip, `may not be unspecified (${ip})`)];
  if (ip.startsWith("127.") || ip === "::1") return [invalidValue(field, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)")];
  if (ip.startsWith("169.254.")) return [invalidValue(field, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")];
  return ip.startsWith("224.0.0.")
    ? [invalidValue(field, ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")]
    : [];
}

function portConflicts({ type, ports = [] }: ServiceSpec): FieldError[] {
  const errors = ports.flatMap(({ nodePort = 0 }, index) =>
    type === "ClusterIP" && nodePort !== 0
      ? [forbiddenField(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'")]
      : [],
  );
  const repeats = (index: number, same: (other: ServicePort) => boolean): boolean => ports.slice(0, index).some(same);
  for (const [index, { nodePort = 0, protocol }] of ports.entries()) {
    if (nodePort !== 0 && repeats(index, (other) => other.nodePort === nodePort && other.protocol === protocol))
      errors.push(duplicate(`spec.ports[${index}].nodePort`, nodePort));
  }
  for (const [index, { port, protocol = "" }] of ports.entries()) {
    // The real server prints its internal type.
    const shown = { Name: "", Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
    if (repeats(index, (other) => other.port === port && other.protocol === protocol))
      errors.push(duplicate(`spec.ports[${index}]`, shown));
  }
  return errors;
}

function loadBalancerErrors({
  type,
  loadBalancerSourceRanges = [],
  allocateLoadBalancerNodePorts,
  loadBalancerClass,
}: ServiceSpec): FieldError[] {
  const onlyFor = "may only be used when `type` is 'LoadBalancer'";
  const isBalanced = type === "LoadBalancer";
  return [
    ...(loadBalancerSourceRanges.length > 0 && !isBalanced ? [forbiddenField("spec.LoadBalancerSourceRanges", onlyFor)] : []),
    ...loadBalancerSourceRanges.flatMap((range, index) =>
      isCidr(range.trim())
        ? []
        : [
            invalidValue(
              `spec.LoadBalancerSourceRanges[${index}]`,
              range.trim(),
              "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            ),
          ],
    ),
    ...(allocateLoadBalancerNodePorts !== undefined && !isBalanced ? [forbiddenField("spec.allocateLoadBalancerNodePorts", onlyFor)] : []),
    ...(loadBalancerClass === undefined
      ? []
      : isBalanced
        ? each("spec.loadBalancerClass", loadBalancerClass, labelKeyProblems(loadBalancerClass))
        : [forbiddenField("spec.loadBalancerClass", onlyFor)]),
  ];
}

function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  const family = isIP(address);
  return family !== 0 && rest.length === 0 && /^\d+$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

function trafficErrors(spec: ServiceSpec): FieldError[] {
  const { externalTrafficPolicy, healthCheckNodePort = 0, internalTrafficPolicy, trafficDistribution } = spec;
  const errors: FieldError[] = [];
  if (!isExternallyAccessible(spec)) {
    if (externalTrafficPolicy !== undefined)
      errors.push(invalidValue("spec.externalTrafficPolicy", externalTrafficPolicy, "may only be set for externally-accessible services"));
  } else if (!trafficPolicies.includes(externalTrafficPolicy ?? "")) {
    errors.push(notSupported("spec.externalTrafficPolicy", externalTrafficPolicy ?? "", trafficPolicies));
  }
  if (!needsHealthCheckPort(spec) && healthCheckNodePort !== 0) {
    errors.push(
      invalidValue(
        "spec.healthCheckNodePort",
        healthCheckNodePort,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    );
  }
  if (internalTrafficPolicy !== undefined && !trafficPolicies.includes(internalTrafficPolicy))
    errors.push(notSupported("spec.internalTrafficPolicy", internalTrafficPolicy, trafficPolicies));
  if (trafficDistribution !== undefined && !trafficDistributions.includes(trafficDistribution))
    errors.push(notSupported("spec.trafficDistribution", trafficDistribution, trafficDistributions));
  return errors;
}

function updateErrors(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const both = (test: (one: ServiceSpec) => boolean): boolean => test(spec) && test(old);
  if (both(({ type }) => type !== "ExternalName")) errors.push(...addressUpdateErrors(spec, old));
  if (both(({ type }) => type === "LoadBalancer") && !equalJson(spec.loadBalancerClass, old.loadBalancerClass))
    errors.push(invalidValue("spec.loadBalancerClass", spec.loadBalancerClass ?? null, "may not change once set"));
  if (both(needsHealthCheckPort) && spec.healthCheckNodePort !== old.healthCheckNodePort)
    errors.push(forbiddenField("spec.healthCheckNodePort", "field is immutable"));
  return errors;
}

function addressUpdateErrors(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (isHeadless(spec) && isHeadless(old)) return [];
  const { clusterIPs = [], ipFamilies } = spec;
  const before = old.clusterIPs ?? [];
  const isUnset = clusterIPs.length === 0 && before.length > 0;
  const errors = isUnset ? [invalidValue("spec.clusterIPs[0]", spec.clusterIPs ?? null, "primary clusterIP can not be unset")] : [];
  for (const [index, ip] of before.entries()) {
    const now = clusterIPs[index];
    if (now !== undefined && now !== ip) errors.push(invalidValue(`spec.clusterIPs[${index}]`, clusterIPs, "may not change once set"));
  }
  if (!isHeadless(spec) && !isHeadless(old) && ipFamilies?.[0] !== old.ipFamilies?.[0])
    errors.push(invalidValue("spec.ipFamilies[0]", ipFamilies ?? null, "may not change once set"));
  return errors;
}
