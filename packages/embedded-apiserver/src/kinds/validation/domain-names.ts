import type { FieldError } from "../kind.ts";
import { invalidValue, required } from "./field-errors.ts";
import { each } from "./labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "./names.ts";

/** Source of this file: k8s.io/apimachinery v0.36.3 pkg/util/validation/validation.go. */

const wildcardPattern = String.raw`\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`;
const pathPattern = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`;

/** Host such as `*.example.com`. */
export function wildcardSubdomainProblems(host: string): string[] {
  const rule =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
  return [
    ...(Buffer.byteLength(host) > 253 ? ["must be no more than 253 characters"] : []),
    ...(new RegExp(`^${wildcardPattern}$`).test(host)
      ? []
      : [`${rule} (e.g. '*.example.com', regex used for validation is '${wildcardPattern}')`]),
  ];
}

/** Name such as `example.com/ingress-controller`. */
export function domainPrefixedPathErrors(text: string, field: string): FieldError[] {
  if (text === "") return [required(field)];
  const slash = text.indexOf("/");
  const [domain, path] = [text.slice(0, Math.max(slash, 0)), text.slice(slash + 1)];
  if (slash <= 0 || path === "") return [invalidValue(field, text, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  return [
    ...each(field, domain, dnsSubdomainProblems(domain)),
    ...(new RegExp(`^${pathPattern}$`).test(path)
      ? []
      : [invalidValue(field, path, `Invalid path (regex used for validation is '${pathPattern}')`)]),
  ];
}

/** Name of a webhook: a domain of at least three segments. */
export function fullyQualifiedNameErrors(name: string, field: string): FieldError[] {
  if (name === "") return [required(field)];
  const problems = dnsSubdomainProblems(name);
  if (problems.length > 0) return [invalidValue(field, name, problems.join(","))];
  return name.split(".").length < 3 ? [invalidValue(field, name, "should be a domain with at least three segments separated by dots")] : [];
}

/** Domain name of at least two segments, with an optional dot at the end. */
export function domainNameErrors(text: string, field: string): FieldError[] {
  if (text === "") return [required(field)];
  const name = text.endsWith(".") ? text.slice(0, -1) : text;
  const problems = dnsSubdomainProblems(name);
  if (problems.length > 0) return [invalidValue(field, name, problems.join(","))];
  const labels = name.split(".");
  if (labels.length < 2) return [invalidValue(field, name, "should be a domain with at least two segments separated by dots")];
  const wrong = labels.find((label) => dnsLabelProblems(label).length > 0);
  return wrong === undefined ? [] : [invalidValue(field, wrong, dnsLabelProblems(wrong).join(","))];
}
