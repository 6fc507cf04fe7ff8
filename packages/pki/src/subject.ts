import { BaseStringBlock, ObjectIdentifier, Set as Asn1Set, Utf8String, type BaseBlock, type Sequence } from "asn1js";
import { elementsOf, sequence, structureError } from "./asn1.ts";

/** Whom a certificate is for. */
export interface Subject {
  /** Kubernetes' name of a client's user. */
  readonly commonName?: string | undefined;
  /** Kubernetes' groups of a client. Default: none. */
  readonly organizations?: readonly string[] | undefined;
  /** Further attributes: object identifier, such as `1.3.6.1.4.1.57683.2` for a user's UID, and text. Default: none. */
  readonly extraNames?: readonly (readonly [type: string, text: string])[] | undefined;
}

const commonNameType = "2.5.4.3";
const organizationType = "2.5.4.10";

/** The Name of RFC 5280 §4.1.2.4: organizations, common name, extra names, one attribute in each set. */
export function toName({ commonName, organizations = [], extraNames = [] }: Subject): Sequence {
  const attributes = [
    ...organizations.map((organization) => [organizationType, organization] as const),
    ...(commonName === undefined ? [] : [[commonNameType, commonName] as const]),
    ...extraNames,
  ];
  return sequence(
    ...attributes.map(
      ([type, value]) => new Asn1Set({ value: [sequence(new ObjectIdentifier({ value: type }), new Utf8String({ value }))] }),
    ),
  );
}

/** Common name, of several the last one, as with Go, and organizations of a Name. @throws InvalidInputError */
export function fromName(name: BaseBlock | undefined): { readonly commonName: string; readonly organizations: readonly string[] } {
  const attributes = elementsOf(name, "the subject").flatMap((set) =>
    elementsOf(set, "a relative distinguished name", "SET").map((attribute) => {
      const [type, value] = elementsOf(attribute, "an attribute of the subject");
      if (!(type instanceof ObjectIdentifier) || !(value instanceof BaseStringBlock))
        throw structureError("an attribute of the subject is not a text");
      return { type: type.getValue(), text: value.getValue() };
    }),
  );
  const textsOf = (wanted: string): string[] => attributes.filter(({ type }) => type === wanted).map(({ text }) => text);
  return { commonName: textsOf(commonNameType).at(-1) ?? "", organizations: textsOf(organizationType) };
}
