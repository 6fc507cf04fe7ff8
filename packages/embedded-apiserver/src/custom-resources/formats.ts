import { isIP, isIPv4, isIPv6 } from "node:net";

const checks: Readonly<Record<string, (value: string) => boolean>> = {
  "date-time": (value) =>
    /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value)),
  date: (value) => /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)),
  duration: (value) => /^-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(value) || value === "0",
  email: (value) => /^[^@\s]+@[^@\s]+$/.test(value),
  hostname: (value) => /^[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?$/.test(value),
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: (value) => isIP(value.split("/", 1)[0] ?? "") !== 0 && /\/\d+$/.test(value),
  mac: (value) => /^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$/.test(value),
  uri: (value) => URL.canParse(value),
  uuid: (value) => /^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$/.test(value),
  byte: (value) => /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0,
};

/**
 * Whether a string has a format.
 *
 * Source of the formats: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/validation/formats.go. Formats that are not listed above are
 * not checked.
 */
export function isOfFormat(format: string, value: string): boolean {
  return checks[format]?.(value) ?? true;
}

/** Whether strings of a schema with this format are checked. */
export function hasFormat(format: string | undefined): boolean {
  return format !== undefined && Object.hasOwn(checks, format);
}
