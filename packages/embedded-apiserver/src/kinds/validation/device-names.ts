import type { FieldError } from "../kind.ts";
import { invalidValue, required, tooLong } from "./field-errors.ts";
import { each } from "./labels.ts";
import { dnsSubdomainProblems } from "./names.ts";
import { isExtendedResource } from "./resource-names.ts";

/** Names of drivers, pools and devices. Source: Kubernetes v1.36.3 pkg/apis/resource/validation and pkg/apis/core/validation. */

const identifierLimit = 32;
const poolNameLimit = 253;

/** Name of a CSI or DRA driver. */
export function driverNameErrors(name: string, field: string): FieldError[] {
  if (name === "") return [required(field)];
  return [...(Buffer.byteLength(name) > 63 ? [tooLong(field, 63)] : []), ...each(field, name, dnsSubdomainProblems(name.toLowerCase()))];
}

export function poolNameErrors(name: string, field: string): FieldError[] {
  if (name === "") return [required(field)];
  return [
    ...(Buffer.byteLength(name) > poolNameLimit ? [tooLong(field, poolNameLimit)] : []),
    ...name.split("/").flatMap((part) => each(field, part, dnsSubdomainProblems(part))),
  ];
}

/** Name of an attribute or a capacity: a C identifier with an optional domain, which is required if `isFull`. */
export function qualifiedResourceErrors(name: string, field: string, isFull: boolean = false): FieldError[] {
  const [domain = "", identifier = "", ...surplus] = name.includes("/") ? name.split("/") : [undefined, name];
  const isDomain = name.includes("/");
  if (surplus.length > 0) return [];
  return [
    ...(isDomain ? (domain === "" ? [invalidValue(field, "", "the domain must not be empty")] : driverNameErrors(domain, field)) : []),
    ...(isDomain && identifier === "" ? [invalidValue(field, "", "the name must not be empty")] : identifierErrors(identifier, field)),
    ...(isFull && !isDomain ? [invalidValue(field, name, "a fully qualified name must be a domain and a name separated by a slash")] : []),
  ];
}

function identifierErrors(identifier: string, field: string): FieldError[] {
  const pattern = "[A-Za-z_][A-Za-z0-9_]*";
  const rule = `a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '${pattern}')`;
  return [
    ...(Buffer.byteLength(identifier) > identifierLimit ? [tooLong(field, identifierLimit)] : []),
    ...(new RegExp(`^${pattern}$`).test(identifier) ? [] : [invalidValue(field, identifier, rule)]),
  ];
}

export function uuidProblems(text: string): string[] {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text)) return [];
  if (/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(text))
    return ["uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"];
  return [`error validating uid: ${text.length === 36 ? "invalid UUID format" : `invalid UUID length: ${text.length}`}`];
}

export function extendedResourceProblems(name: string): string[] {
  return isExtendedResource(name) ? [] : ["must be a valid extended resource name"];
}
