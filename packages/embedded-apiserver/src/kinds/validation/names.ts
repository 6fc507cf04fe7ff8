import { BlockList, isIP } from "node:net";

/**
 * Syntax of names and numbers, with the API server's messages; an empty list means valid. Source: k8s.io/apimachinery v0.36.3
 * pkg/util/validation and pkg/api/validate/content.
 */

const labelPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomainPattern = `${labelPattern}(\\.${labelPattern})*`;
const underscorePattern = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const underscoreSubdomainPattern = `${underscorePattern}(\\.${underscorePattern})*`;
const keyPattern = "[-._a-zA-Z0-9]+";

const whole = (pattern: string): RegExp => new RegExp(`^${pattern}$`);
const labelRule = whole(labelPattern);
const subdomainRule = whole(subdomainPattern);
const underscoreSubdomainRule = whole(underscoreSubdomainPattern);
const keyRule = whole(keyPattern);

function tooLong(value: string, limit: number): string[] {
  return Buffer.byteLength(value) > limit ? [`must be no more than ${limit} characters`] : [];
}

function ruleText(rule: string, pattern: string, examples: readonly string[]): string {
  const list = examples.map((example) => `'${example}', `).join(" or ");
  return `${rule} (e.g. ${list}regex used for validation is '${pattern}')`;
}

/** DNS label (RFC 1123): names of containers and namespaces. */
export function dnsLabelProblems(value: string): string[] {
  const problems = tooLong(value, 63);
  if (labelRule.test(value)) return problems;
  if (subdomainRule.test(value)) return [...problems, "must not contain dots"];
  const rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...problems, ruleText(rule, labelPattern, ["my-name", "123-abc"])];
}

/** DNS subdomain: names of most objects. */
export function dnsSubdomainProblems(value: string): string[] {
  const problems = tooLong(value, 253);
  if (subdomainRule.test(value)) return problems;
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...problems, ruleText(rule, subdomainPattern, ["example.com"])];
}

/** DNS subdomain whose labels may start with an underscore: search domains. */
export function underscoreSubdomainProblems(value: string): string[] {
  const problems = tooLong(value, 253);
  if (underscoreSubdomainRule.test(value)) return problems;
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
  return [...problems, ruleText(rule, underscoreSubdomainPattern, ["example.com"])];
}

/** Keys of config maps and secrets. */
export function dataKeyProblems(value: string): string[] {
  const problems = tooLong(value, 253);
  if (!keyRule.test(value))
    problems.push(
      ruleText("a valid config key must consist of alphanumeric characters, '-', '_' or '.'", keyPattern, [
        "key.name",
        "KEY_NAME",
        "key-name",
      ]),
    );
  if (value === ".") problems.push("must not be '.'");
  else if (value === "..") problems.push("must not be '..'");
  else if (value.startsWith("..")) problems.push("must not start with '..'");
  return problems;
}

/** Names of environment variables. */
export function envNameProblems(value: string): string[] {
  if (value === "") return ["environment variable name must be non-empty"];
  return /^[\x20-\x3c\x3e-\x7e]*$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

export function portNumberProblems(port: number): string[] {
  return port >= 1 && port <= 65_535 ? [] : [inclusiveRange(1, 65_535)];
}

export function portNameProblems(name: string): string[] {
  const problems = tooLong(name, 15);
  if (!/^[-a-z0-9]+$/.test(name)) problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(name)) problems.push("must contain at least one letter (a-z)");
  if (name.includes("--")) problems.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) problems.push("must not begin or end with a hyphen");
  return problems;
}

export function headerNameProblems(name: string): string[] {
  const pattern = "[-A-Za-z0-9]+";
  return whole(pattern).test(name)
    ? []
    : [ruleText("a valid HTTP header must consist of alphanumeric characters or '-'", pattern, ["X-Header-Name"])];
}

export function percentProblems(text: string): string[] {
  const pattern = "[0-9]+%";
  return whole(pattern).test(text)
    ? []
    : [ruleText("a valid percent string must be a numeric string followed by an ending '%'", pattern, ["1%", "93%"])];
}

/** User and group IDs. */
export function idProblems(id: number): string[] {
  return id >= 0 && id <= 2 ** 31 - 1 ? [] : [inclusiveRange(0, 2 ** 31 - 1)];
}

const mapped = new BlockList();
mapped.addSubnet("::ffff:0:0", 96, "ipv6");

/** IPv4 or IPv6 address. Source: k8s.io/apimachinery v0.36.3 pkg/util/validation/ip.go, `IsValidIPForLegacyField`. */
export function ipProblems(address: string): string[] {
  const family = address.includes("%") ? 0 : isIP(address);
  if (family === 6 && mapped.check(address, "ipv6")) return ["must not be an IPv4-mapped IPv6 address"];
  if (family !== 0) return [];
  const isPadded = /^\d{1,3}(\.\d{1,3}){3}$/.test(address) && address.split(".").every((part) => Number(part) <= 255);
  return [isPadded ? "must not have leading 0s" : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"];
}

/** IP range such as `10.9.8.0/24`. */
export function cidrProblems(text: string): string[] {
  const [address = "", bits = "", ...surplus] = text.split("/");
  const family = isIP(address);
  const isRange = family !== 0 && surplus.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
  return isRange ? [] : ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"];
}

/** `must be between 1 and 65535, inclusive`. */
export function inclusiveRange(from: number, to: number): string {
  return `must be between ${from} and ${to}, inclusive`;
}

/** Names that form a single segment of a path. */
export function pathSegmentProblems(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return pathSegmentPrefixProblems(name);
}

/** The first part of such a name. */
export function pathSegmentPrefixProblems(name: string): string[] {
  return ["/", "%"].filter((character) => name.includes(character)).map((character) => `may not contain '${character}'`);
}

/** Kinds that somebody names, in any case. */
export function kindProblems(kind: string): string[] {
  const problems = dns1035LabelProblems(kind.toLowerCase());
  return problems.length === 0 ? [] : [`may have mixed case, but should otherwise match: ${problems.join(",")}`];
}

/** DNS label (RFC 1035): names of services and kinds. */
export function dns1035LabelProblems(value: string): string[] {
  const pattern = "[a-z]([-a-z0-9]*[a-z0-9])?";
  const problems = tooLong(value, 63);
  if (whole(pattern).test(value)) return problems;
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [...problems, ruleText(rule, pattern, ["my-name", "abc-123"])];
}
