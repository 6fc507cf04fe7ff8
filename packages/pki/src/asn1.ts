import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { type BaseBlock, Constructed, fromBER, type FromBerResult, Sequence, Set } from "asn1js";

/** Tag class of elements whose meaning depends on the structure around them. */
export const contextSpecific = 3;

/** An ordered list of elements. */
export function sequence(...value: BaseBlock[]): Sequence {
  return new Sequence({ value });
}

/** An element with an EXPLICIT context-specific tag. */
export function tagged(tagNumber: number, value: BaseBlock): Constructed {
  return new Constructed({ idBlock: { tagClass: contextSpecific, tagNumber }, value: [value] });
}

/** An element in DER. */
export function encode(block: BaseBlock): Buffer {
  return Buffer.from(block.toBER());
}

/** Reads bytes that are exactly one element in DER. @throws InvalidInputError */
export function decode(der: Uint8Array): BaseBlock {
  const { offset, result, again } = read(der);
  if (offset === -1) throw structureError(result.error);
  if (offset < der.length) throw structureError("trailing data");
  // Parts of a request are written again into its certificate, which must not change a byte of them.
  if (!again?.equals(der)) throw structureError("not in DER");
  return result;
}

/** @returns `again`: the element as it would be written; `undefined` if it cannot be read */
function read(der: Uint8Array): FromBerResult & { readonly again: Buffer | undefined } {
  try {
    // Without parseEmbedded, octet and bit strings are left as bytes: the default guesses whether they hold further elements.
    const found = fromBER(Buffer.from(der), { parseEmbedded: false });
    return { ...found, again: found.offset === -1 ? undefined : encode(found.result) };
  } catch (error) {
    // Such as a time that is no time.
    throw new InvalidInputError(`asn1: structure error: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * The elements of a SEQUENCE or SET, or of one with a context-specific tag.
 *
 * @param name - of the structure, for the error
 * @throws InvalidInputError if it is something else, or missing
 */
export function elementsOf(block: BaseBlock | undefined, name: string, kind: "SEQUENCE" | "SET" | "tagged" = "SEQUENCE"): BaseBlock[] {
  const type = { SEQUENCE: Sequence, SET: Set, tagged: Constructed }[kind];
  if (!(block instanceof type) || !block.idBlock.isConstructed)
    throw structureError(`${name} is ${block === undefined ? "missing" : `no ${kind}`}`);
  if (block.lenBlock.isIndefiniteForm) throw structureError(`the length of ${name} is indefinite`);
  return block.valueBlock.value;
}

/** Whether an element has this context-specific tag. */
export function hasTag(block: BaseBlock, tagNumber: number): boolean {
  return block.idBlock.tagClass === contextSpecific && block.idBlock.tagNumber === tagNumber;
}

/** An error for bytes that are not the structure they should be, worded like Go's encoding/asn1. */
export function structureError(problem: string): InvalidInputError {
  return new InvalidInputError(`asn1: structure error: ${problem}`);
}
