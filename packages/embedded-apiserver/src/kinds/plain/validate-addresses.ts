import { isIPv4, isIPv6 } from "node:net";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { declarativeErrors } from "../validation/declarative.ts";
import { invalidValue, required } from "../validation/field-errors.ts";
import { canonicalCidrErrors } from "../validation/ip-addresses.ts";
import { each } from "../validation/labels.ts";
import { dnsSubdomainProblems, pathSegmentProblems } from "../validation/names.ts";

/** IPAddress and ServiceCIDR. Source: Kubernetes v1.36.3 pkg/apis/networking/validation/validation.go. */

interface ParentReference {
  readonly group?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

export function ipAddressErrors(address: ApiObject, old: ApiObject | undefined): FieldError[] {
  const declared = declarativeErrors("io.k8s.api.networking.v1.IPAddress", address, old);
  if (old !== undefined) return declared;
  const { group = "", resource = "", namespace = "", name = "" }: ParentReference = address["spec"].parentRef ?? {};
  const field = "spec.parentRef";
  return [
    ...(group === "" ? [] : each(`${field}.group`, group, dnsSubdomainProblems(group))),
    ...declared,
    ...each(`${field}.resource`, resource, pathSegmentProblems(resource)),
    ...each(`${field}.name`, name, pathSegmentProblems(name)),
    ...each(`${field}.namespace`, namespace, pathSegmentProblems(namespace)),
  ];
}

const immutable = "field is immutable";

export function serviceCidrErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const cidrs: readonly string[] = object["spec"].cidrs ?? [];
  if (old === undefined) return rangesErrors(cidrs);
  const before: readonly string[] = old["spec"].cidrs ?? [];
  if (equalJson(cidrs, before)) return [];
  const isExtended = before.length === 1 && cidrs.length === 2;
  if (before.length !== cidrs.length && !isExtended) return [invalidValue("spec.cidrs", cidrs, immutable)];
  return [
    ...before.flatMap((range, index) => (range === cidrs[index] ? [] : [invalidValue(`spec.cidrs[${index}]`, cidrs[index], immutable)])),
    ...(isExtended ? rangesErrors(cidrs) : []),
  ];
}

function rangesErrors(cidrs: readonly string[]): FieldError[] {
  const field = "spec.cidrs";
  if (cidrs.length === 0) return [required(field, "at least one CIDR required")];
  if (cidrs.length > 2) return [invalidValue(field, { CIDRs: cidrs }, "may only hold up to 2 values")];
  const families = cidrs.map((range) => {
    const [address = ""] = range.split("/");
    return isIPv4(address) ? 4 : isIPv6(address) ? 6 : 0;
  });
  return [
    ...cidrs.flatMap((range, index) => canonicalCidrErrors(range, `${field}[${index}]`)),
    ...(cidrs.length === 2 && families[0] === families[1] && families[0] !== 0
      ? [invalidValue(field, cidrs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64")]
      : []),
  ];
}
