import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isIP } from "node:net";
import type { NetworkConfig } from "../config/network.ts";

/** Addresses of far pods, as each of the two clusters sees them. */
export interface AddressMap {
  /** Address under which home reaches a far pod; `undefined` if home cannot reach it. */
  toHome(far: string): string | undefined;
  /** Address in the far cluster of an address that home uses; the same address if it is not one of a far pod. */
  toFar(home: string): string;
}

interface Range {
  readonly family: 4 | 6;
  readonly first: bigint;
  /** Number of addresses. */
  readonly size: bigint;
}

/** @throws InvalidInputError if the two ranges of an entry do not fit together, or two ranges of one side overlap */
export function addressMap(podIPs: NetworkConfig["podIPs"]): AddressMap {
  if (podIPs === "same") return { toHome: (far) => far, toFar: (home) => home };
  if (podIPs === "none") return { toHome: () => undefined, toFar: (home) => home };
  const pairs = podIPs.map((entry, index) => {
    const field = `network.podIPs[${index}]`;
    const far = parseRange(entry.far, `${field}.far`);
    const home = parseRange(entry.home, `${field}.home`);
    if (far.family !== home.family || far.size !== home.size)
      throw new InvalidInputError(
        `${field}: far is ${entry.far} and home ${entry.home}, expected ranges of one size and family; give both the same prefix length`,
      );
    return { far, home };
  });
  for (const side of ["far", "home"] as const) refuseOverlap(pairs, side);
  return {
    toHome: (far) => translate(far, pairs, "far", "home"),
    toFar: (home) => translate(home, pairs, "home", "far") ?? home,
  };
}

function translate(
  address: string,
  pairs: readonly { readonly far: Range; readonly home: Range }[],
  from: "far" | "home",
  to: "far" | "home",
): string | undefined {
  const family = familyOf(address);
  if (family === undefined) return undefined;
  const value = toNumber(address, family);
  for (const pair of pairs) {
    const { first, size, family: rangeFamily } = pair[from];
    if (rangeFamily === family && value >= first && value < first + size) return toText(pair[to].first + (value - first), family);
  }
  return undefined;
}

function refuseOverlap(pairs: readonly { readonly far: Range; readonly home: Range }[], side: "far" | "home"): void {
  for (const [index, { [side]: range }] of pairs.entries()) {
    const other = pairs.slice(0, index).findIndex(({ [side]: earlier }) => overlap(earlier, range));
    if (other >= 0)
      throw new InvalidInputError(
        `network.podIPs[${index}].${side} overlaps network.podIPs[${other}].${side}, expected ranges without common addresses`,
      );
  }
}

function overlap(one: Range, other: Range): boolean {
  return one.family === other.family && one.first < other.first + other.size && other.first < one.first + one.size;
}

function parseRange(text: string, field: string): Range {
  const [address = "", prefix = ""] = text.split("/");
  const family = familyOf(address);
  const bits = Number(prefix);
  if (family === undefined || prefix === "" || !Number.isInteger(bits) || bits > bitsOf(family))
    throw new InvalidInputError(`${field} is ${text}, expected a range of addresses such as 10.2.0.0/16 or fd00:2::/64`);
  const size = 1n << BigInt(bitsOf(family) - bits);
  const value = toNumber(address, family);
  if (value % size !== 0n)
    throw new InvalidInputError(
      `${field} is ${text}, expected the range's first address; did you mean ${toText(value - (value % size), family)}/${bits}?`,
    );
  return { family, first: value, size };
}

function familyOf(address: string): 4 | 6 | undefined {
  const family = isIP(address);
  return family === 4 || family === 6 ? family : undefined;
}

function bitsOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

function toNumber(address: string, family: 4 | 6): bigint {
  if (family === 4) return address.split(".").reduce((value, part) => value * 256n + BigInt(part), 0n);
  // The URL parser writes an address in its short form, without a dotted end.
  const [head = "", tail] = canonical(address).split("::");
  const left = head.split(":").filter(Boolean);
  const right = (tail ?? "").split(":").filter(Boolean);
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].reduce((value, part) => value * 65_536n + BigInt(`0x${part}`), 0n);
}

function toText(value: bigint, family: 4 | 6): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  const parts = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 65_535n).toString(16));
  return canonical(parts.join(":"));
}

function canonical(address: string): string {
  return new URL(`http://[${address.split("%", 1)[0] ?? ""}]`).hostname.slice(1, -1);
}
