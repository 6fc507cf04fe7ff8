import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { type BaseBlock, BitString, Boolean as Asn1Boolean, ObjectIdentifier, OctetString, Primitive, type Sequence } from "asn1js";
import { contextSpecific, elementsOf, encode, sequence, structureError } from "./asn1.ts";
import { extendedKeyUsages, isKeyUsage, type KeyUsage, keyUsageBits } from "./key-usages.ts";

const types = {
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
} as const;

/** keyUsage and extKeyUsage, each only if one of the usages belongs to it. @throws InvalidInputError if there is no such usage */
export function usageExtensions(usages: readonly KeyUsage[]): Sequence[] {
  // Without any extension a certificate would be good for every usage.
  const unknown = usages.find((usage) => !isKeyUsage(usage));
  if (unknown !== undefined) throw new InvalidInputError(`there is no key usage ${JSON.stringify(unknown)}`);
  const bits = keyUsageBits(usages);
  const identifiers = [...new Set(extendedKeyUsages(usages))];
  return [
    ...(bits.length === 0 ? [] : [extension(types.keyUsage, bitString(bits), true)]),
    ...(identifiers.length === 0
      ? []
      : [extension(types.extendedKeyUsage, sequence(...identifiers.map((value) => new ObjectIdentifier({ value }))))]),
  ];
}

/** Whether the certificate is an authority's. */
export function basicConstraints(isAuthority: boolean): Sequence {
  return extension(types.basicConstraints, isAuthority ? sequence(new Asn1Boolean({ value: true })) : sequence(), true);
}

/** @param names - GeneralNames */
export function subjectAltName(names: BaseBlock): Sequence {
  return extension(types.subjectAltName, names);
}

/** The identifier by which the certificates that an authority issues refer to its key. */
export function subjectKeyIdentifier(identifier: Uint8Array): Sequence {
  return extension(types.subjectKeyIdentifier, new OctetString({ valueHex: identifier }));
}

/** The identifier of the key that signs the certificate. */
export function authorityKeyIdentifier(identifier: Uint8Array): Sequence {
  const keyIdentifier = new Primitive({ idBlock: { tagClass: contextSpecific, tagNumber: 0 }, valueHex: identifier });
  return extension(types.authorityKeyIdentifier, sequence(keyIdentifier));
}

/** The value of one extension in a list of them, in DER; `undefined` if there is none. @throws InvalidInputError */
export function extensionValue(extensions: BaseBlock | undefined, name: "subjectAltName" | "subjectKeyIdentifier"): Uint8Array | undefined {
  for (const each of elementsOf(extensions, "the list of extensions")) {
    const [type, ...rest] = elementsOf(each, "an extension");
    const value = rest.at(-1);
    if (!(type instanceof ObjectIdentifier) || !(value instanceof OctetString)) throw structureError("an extension has no type or value");
    if (type.getValue() === types[name]) return value.valueBlock.valueHexView;
  }
  return undefined;
}

function extension(type: string, value: BaseBlock, isCritical = false): Sequence {
  return sequence(
    new ObjectIdentifier({ value: type }),
    ...(isCritical ? [new Asn1Boolean({ value: true })] : []),
    new OctetString({ valueHex: encode(value) }),
  );
}

/** A BIT STRING with these bits set; DER leaves out zeros at its end. */
function bitString(bits: readonly number[]): BitString {
  const last = Math.max(...bits);
  const valueHex = new Uint8Array((last >> 3) + 1);
  for (const bit of bits) valueHex[bit >> 3] = (valueHex[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return new BitString({ valueHex, unusedBits: 7 - (last & 7) });
}
