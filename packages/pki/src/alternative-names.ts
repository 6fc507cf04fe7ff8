import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { type BaseBlock, Primitive, type Sequence } from "asn1js";
import { isIP } from "node:net";
import { contextSpecific, elementsOf, hasTag, sequence } from "./asn1.ts";

/** Kinds of alternative names that Kubernetes tells apart. */
export type AlternativeNameKind = "email" | "dns" | "uri" | "ip";

/** Tags of GeneralName, RFC 5280 §4.2.1.6. */
const tags: Readonly<Record<AlternativeNameKind, number>> = { email: 1, dns: 2, uri: 6, ip: 7 };

/** GeneralNames of DNS names and IP addresses. @throws InvalidInputError if one cannot be written */
export function toAlternativeNames(names: readonly string[]): Sequence {
  return sequence(
    ...names.map((name) => {
      const [tagNumber, valueHex] = isIP(name) === 0 ? [tags.dns, dnsNameBytes(name)] : [tags.ip, addressBytes(name)];
      return new Primitive({ idBlock: { tagClass: contextSpecific, tagNumber }, valueHex });
    }),
  );
}

/** How many names of each kind GeneralNames hold. @throws InvalidInputError */
export function countAlternativeNames(names: BaseBlock | undefined): Readonly<Record<AlternativeNameKind, number>> {
  const list = names === undefined ? [] : elementsOf(names, "the subject alternative name");
  const count = (kind: AlternativeNameKind): number => list.filter((name) => hasTag(name, tags[kind])).length;
  return { email: count("email"), dns: count("dns"), uri: count("uri"), ip: count("ip") };
}

function dnsNameBytes(name: string): Uint8Array<ArrayBuffer> {
  if (!/^[\u0021-\u007e]+$/.test(name)) throw new InvalidInputError(`${JSON.stringify(name)} is not a DNS name in ASCII`);
  return Buffer.from(name, "ascii");
}

function addressBytes(address: string): Uint8Array<ArrayBuffer> {
  if (isIP(address) === 4) return Uint8Array.from(address.split(".").map(Number));
  // A zone means something on one machine only. The URL parser turns an IPv4 part into two groups.
  const [left = "", right] = new URL(`http://[${address.replace(/%.*/, "")}]`).hostname.slice(1, -1).split("::");
  const [before = [], after = []] = [left, right ?? ""].map((part) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)),
  );
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return Uint8Array.from([...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]));
}
