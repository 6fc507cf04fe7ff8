import { BlockList, isIP, isIPv6 } from "node:net";
import type { FieldError } from "../kind.ts";
import { invalidValue } from "./field-errors.ts";
import { each } from "./labels.ts";
import { cidrProblems, ipProblems } from "./names.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go and k8s.io/apimachinery v0.36.3 pkg/util/validation/ip.go. */

const loopback = listOf(["127.0.0.0", 8], ["::1", 128]);
const linkLocal = listOf(["169.254.0.0", 16], ["fe80::", 10]);
const mapped = listOf(["::ffff:0:0", 96]);
const linkLocalMulticast = listOf(["224.0.0.0", 24], ["ff02::", 16]);

function listOf(...ranges: readonly (readonly [address: string, bits: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, bits] of ranges) list.addSubnet(address, bits, isIPv6(address) ? "ipv6" : "ipv4");
  return list;
}

/** Address of an endpoint: not unspecified, loopback or link-local. */
export function endpointIpErrors(text: string, field: string): FieldError[] {
  const address = withoutPadding(text);
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (isIP(address) === 0) return [invalidValue(field, text, "must be a valid IP address")];
  const problems: (string | false)[] = [
    /^[0:.]+$/.test(address) && !/[1-9a-f]/i.test(address) && `may not be unspecified (${text})`,
    loopback.check(address, family) && "may not be in the loopback range (127.0.0.0/8, ::1/128)",
    linkLocal.check(address, family) && "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
    linkLocalMulticast.check(address, family) && "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
  ];
  return each(
    field,
    text,
    problems.filter((problem) => problem !== false),
  );
}

/** Drops leading zeros of an IPv4 address. */
function withoutPadding(text: string): string {
  return /^\d+(\.\d+){3}$/.test(text) ? text.replace(/\b0+(?=\d)/g, "") : text;
}

/** @param existing - values that the update does not add */
export function ipErrors(address: string, field: string, existing: readonly string[] = []): FieldError[] {
  return existing.includes(address) ? [] : each(field, address, ipProblems(address));
}

/** Address in its canonical form, as newer fields require it. */
export function canonicalIpErrors(address: string, field: string): FieldError[] {
  return each(field, address, canonicalIpProblems(address));
}

export function canonicalIpProblems(address: string): string[] {
  const problems = ipProblems(address);
  const canonical = problems.length > 0 ? address : canonicalIp(address);
  return address === canonical ? problems : [`must be in canonical form ("${canonical}")`];
}

function canonicalIp(address: string): string {
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}

function isMapped(address: string): boolean {
  return isIPv6(address) && mapped.check(address, "ipv6");
}

/** @param existing - values that the update does not add */
export function cidrErrors(range: string, field: string, existing: readonly string[] = []): FieldError[] {
  return existing.includes(range) ? [] : each(field, range, strictCidrProblems(range));
}

/** Range in its canonical form, as newer fields require it. */
export function canonicalCidrErrors(range: string, field: string): FieldError[] {
  const problems = strictCidrProblems(range);
  const [address = "", bits = ""] = range.split("/");
  const canonical = problems.length > 0 ? range : `${canonicalIp(address)}/${bits}`;
  return each(field, range, range === canonical ? problems : [`must be in canonical form ("${canonical}")`]);
}

function strictCidrProblems(range: string): string[] {
  const [address = "", bits = ""] = range.split("/");
  if (/^0\d/.test(bits) || (isIP(address) === 0 && isIP(withoutPadding(address)) !== 0))
    return ["must not have leading 0s in IP or prefix length"];
  const problems = cidrProblems(range);
  if (problems.length > 0) return problems;
  if (isMapped(address)) return ["must not have an IPv4-mapped IPv6 address"];
  return hasHostBits(address, Number(bits)) ? ["must not have bits set beyond the prefix length"] : [];
}

function hasHostBits(address: string, bits: number): boolean {
  const { value, width } = numberOf(address);
  return (value & ((1n << BigInt(width - bits)) - 1n)) !== 0n;
}

function numberOf(address: string): { readonly value: bigint; readonly width: number } {
  if (!isIPv6(address)) return { value: address.split(".").reduce((sum, part) => (sum << 8n) | BigInt(part), 0n), width: 32 };
  const [head = "", tail] = canonicalIp(address).split("::");
  const groups = (text: string | undefined): string[] => (text === undefined || text === "" ? [] : text.split(":"));
  const [before, after] = [groups(head), groups(tail)];
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => "0"), ...after];
  return { value: all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n), width: 128 };
}

/** Whether the first range contains the second one and is larger. Both are valid ranges. */
export function isStrictSubset(outer: string, inner: string): boolean {
  const [outerAddress = "", outerBits = ""] = outer.split("/");
  const [innerAddress = "", innerBits = ""] = inner.split("/");
  if (isIP(outerAddress) !== isIP(innerAddress) || Number(innerBits) <= Number(outerBits)) return false;
  return listOf([outerAddress, Number(outerBits)]).check(innerAddress, isIPv6(innerAddress) ? "ipv6" : "ipv4");
}
