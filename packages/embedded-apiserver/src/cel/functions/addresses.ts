import { isIPv4, isIPv6 } from "node:net";
import { declare, type FunctionPart } from "../signatures.ts";
import { EvaluationError, Opaque, type Value } from "../values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/cel/library/ip.go and cidr.go, and Go's package net/netip. */

/** An IP address. */
class IpAddress extends Opaque {
  readonly typeName = "net.IP";
  readonly bytes: readonly number[];

  constructor(bytes: readonly number[]) {
    super();
    this.bytes = bytes;
  }

  override get size(): number {
    return this.bytes.length;
  }

  override equals(other: Value): boolean {
    return other instanceof IpAddress && this.text === other.text;
  }

  /** Canonical text. */
  get text(): string {
    if (this.bytes.length === 4) return this.bytes.join(".");
    const groups = Array.from({ length: 8 }, (_, index) => (this.bytes[index * 2] ?? 0) * 256 + (this.bytes[index * 2 + 1] ?? 0));
    const zeros = longestZeros(groups);
    const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
    return zeros === undefined ? hex(groups) : `${hex(groups.slice(0, zeros.start))}::${hex(groups.slice(zeros.end))}`;
  }
}

function longestZeros(groups: readonly number[]): { readonly start: number; readonly end: number } | undefined {
  let best: { readonly start: number; readonly end: number } | undefined;
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (end < groups.length && groups[end] === 0) end++;
    if (end - start > 1 && (best === undefined || end - start > best.end - best.start)) best = { start, end };
    if (end > start) start = end;
  }
  return best;
}

function parseBytes(text: string): readonly number[] {
  if (isIPv4(text)) return text.split(".").map(Number);
  const [head = "", tail] = text.split("::");
  const groups = (part: string): number[] =>
    part === ""
      ? []
      : part
          .split(":")
          .flatMap((group) =>
            group.includes(".") ? group.split(".").map(Number) : [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255],
          );
  const before = groups(head);
  if (tail === undefined) return before;
  const after = groups(tail);
  return [...before, ...Array.from({ length: 16 - before.length - after.length }, () => 0), ...after];
}

function isMapped(bytes: readonly number[]): boolean {
  return bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
}

function parseIp(text: string): IpAddress {
  const quoted = JSON.stringify(text);
  if (text.includes("%") && isIPv6(text)) throw new EvaluationError(`IP address ${quoted} with zone value is not allowed`);
  if (!isIPv4(text) && !isIPv6(text))
    throw new EvaluationError(
      `IP Address ${quoted} parse error during conversion from string: ParseAddr(${quoted}): ${addressProblem(text)}`,
    );
  const bytes = parseBytes(text);
  if (isMapped(bytes)) throw new EvaluationError(`IPv4-mapped IPv6 address ${quoted} is not allowed`);
  return new IpAddress(bytes);
}

/** Go's words for the commonest mistakes. */
function addressProblem(text: string): string {
  const [separator] = /[.:%]/.exec(text) ?? [];
  if (separator === undefined) return "unable to parse IP";
  if (separator === "%") return "missing IPv6 address";
  if (separator === ":")
    return `each colon-separated field must have at least one digit (at ${JSON.stringify(text.slice(text.indexOf(":")))})`;
  const fields = text.split(".");
  const bad = /[^\d.]/.exec(text);
  if (bad !== null) return `unexpected character (at ${JSON.stringify(text.slice(bad.index))})`;
  if (fields.some((field) => Number(field) > 255)) return "IPv4 field has value >255";
  if (fields.some((field) => field.length > 1 && field.startsWith("0"))) return "IPv4 field has octet with leading zero";
  return fields.length > 4 ? "IPv4 address too long" : "IPv4 address too short";
}

/** An address range, such as `10.0.0.0/8`. */
class Cidr extends Opaque {
  readonly typeName = "net.CIDR";
  readonly address: IpAddress;
  readonly bits: number;

  constructor(address: IpAddress, bits: number) {
    super();
    this.address = address;
    this.bits = bits;
  }

  override get size(): number {
    return Math.ceil(this.bits / 8);
  }

  override equals(other: Value): boolean {
    return other instanceof Cidr && other.bits === this.bits && other.address.equals(this.address);
  }

  get text(): string {
    return `${this.address.text}/${this.bits}`;
  }

  masked(bits: number = this.bits): IpAddress {
    return new IpAddress(this.address.bytes.map((byte, index) => byte & (0xff_00 >> Math.max(0, Math.min(8, bits - index * 8))) & 0xff));
  }

  contains(address: IpAddress): boolean {
    return address.bytes.length === this.address.bytes.length && new Cidr(address, this.bits).masked().equals(this.masked());
  }
}

function parseCidr(text: string): Cidr {
  const quoted = JSON.stringify(text);
  const slash = text.lastIndexOf("/");
  const fail = (problem: string): EvaluationError =>
    new EvaluationError(
      `network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(${quoted}): ${problem}`,
    );
  if (slash < 0) throw fail("no '/'");
  const address = text.slice(0, slash);
  if (!isIPv4(address) && !isIPv6(address)) throw fail(`ParseAddr(${JSON.stringify(address)}): ${addressProblem(address)}`);
  if (address.includes("%")) throw fail("IPv6 zones cannot be present in a prefix");
  const length = text.slice(slash + 1);
  if (!/^(0|[1-9]\d*)$/.test(length)) throw fail(`bad bits after slash: ${JSON.stringify(length)}`);
  const bytes = parseBytes(address);
  if (Number(length) > bytes.length * 8) throw fail("prefix length out of range");
  if (isMapped(bytes))
    throw new EvaluationError(
      `network address parse error during conversion from string: IPv4-mapped IPv6 address ${quoted} is not allowed`,
    );
  return new Cidr(new IpAddress(bytes), Number(length));
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

type Test = (bytes: readonly number[]) => boolean;

const isV4 = (bytes: readonly number[]): boolean => bytes.length === 4;
const isUnspecified: Test = (bytes) => bytes.every((byte) => byte === 0);
const isLoopback: Test = (bytes) => (isV4(bytes) ? bytes[0] === 127 : bytes.at(-1) === 1 && isUnspecified(bytes.slice(0, -1)));
const isMulticast: Test = (bytes) => (isV4(bytes) ? ((bytes[0] ?? 0) & 0xf0) === 0xe0 : bytes[0] === 0xff);
const isLinkLocalMulticast: Test = (bytes) =>
  isV4(bytes) ? bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0 : bytes[0] === 0xff && ((bytes[1] ?? 0) & 0x0f) === 2;
const isLinkLocalUnicast: Test = (bytes) =>
  isV4(bytes) ? bytes[0] === 169 && bytes[1] === 254 : bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80;
const isGlobalUnicast: Test = (bytes) =>
  !isUnspecified(bytes) &&
  !isLoopback(bytes) &&
  !isMulticast(bytes) &&
  !isLinkLocalUnicast(bytes) &&
  !(isV4(bytes) && bytes.every((byte) => byte === 255));

const tests: Readonly<Record<string, Test>> = { isUnspecified, isLoopback, isLinkLocalMulticast, isLinkLocalUnicast, isGlobalUnicast };

const asIp = (value: Value | undefined): IpAddress => (value instanceof IpAddress ? value : parseIp(String(value)));
const asCidr = (value: Value | undefined): Cidr => (value instanceof Cidr ? value : parseCidr(String(value)));

export const addressFunctions: readonly FunctionPart[] = [
  declare("ip", ["string_to_ip (string) -> IP"], (text) => parseIp(String(text))),
  declare("ip", ["cidr_ip CIDR.() -> IP"], (cidr) => asCidr(cidr).address),
  declare("family", ["ip_family IP.() -> int"], (ip) => (isV4(asIp(ip).bytes) ? 4n : 6n)),
  declare("ip.isCanonical", ["ip_is_canonical (string) -> bool"], (text) => parseIp(String(text)).text === text),
  ...Object.entries(tests).map(([name, test]) => declare(name, [`ip_${name} IP.() -> bool`], (ip) => test(asIp(ip).bytes))),
  declare("isIP", ["is_ip (string) -> bool"], (text) => succeeds(() => parseIp(String(text)))),
  declare("string", ["ip_to_string (IP) -> string"], (ip) => asIp(ip).text),
  declare("cidr", ["string_to_cidr (string) -> CIDR"], (text) => parseCidr(String(text))),
  declare("isCIDR", ["is_cidr (string) -> bool"], (text) => succeeds(() => parseCidr(String(text)))),
  declare("string", ["cidr_to_string (CIDR) -> string"], (cidr) => asCidr(cidr).text),
  declare("containsIP", ["cidr_contains_ip_string CIDR.(string) -> bool", "cidr_contains_ip_ip CIDR.(IP) -> bool"], (cidr, ip) =>
    asCidr(cidr).contains(asIp(ip)),
  ),
  declare(
    "containsCIDR",
    ["cidr_contains_cidr_string CIDR.(string) -> bool", "cidr_contains_cidr CIDR.(CIDR) -> bool"],
    (cidr, other) => asCidr(cidr).bits <= asCidr(other).bits && asCidr(cidr).contains(asCidr(other).address),
  ),
  declare("prefixLength", ["cidr_prefix_length CIDR.() -> int"], (cidr) => BigInt(asCidr(cidr).bits)),
  declare("masked", ["cidr_masked CIDR.() -> CIDR"], (cidr) => new Cidr(asCidr(cidr).masked(), asCidr(cidr).bits)),
];
