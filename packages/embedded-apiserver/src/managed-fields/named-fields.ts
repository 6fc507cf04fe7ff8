import { emptySet, type FieldSet, mapNodes } from "./field-set.ts";
import { type MergeType, typeOfField } from "./merge-type.ts";
import { fieldNameOf, type PathElement } from "./path-element.ts";

/**
 * The set with all declared fields that have members below them, so that removing these members can remove the field too.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 fieldpath/set.go, `EnsureNamedFieldsAreMembers`.
 */
export function withNamedFields(set: FieldSet, type: MergeType | undefined): FieldSet {
  return mapNodes(set, (element, { isMember, children }) => {
    const name = fieldNameOf(element);
    const isDeclared = children !== emptySet && name !== undefined && type?.map?.field(name) !== undefined;
    return { isMember: isMember || isDeclared, children: withNamedFields(children, typeAt(type, element)) };
  });
}

/** Type of what an element names; `undefined` if the type has no such part. */
export function typeAt(type: MergeType | undefined, element: PathElement): MergeType | undefined {
  const name = fieldNameOf(element);
  if (name !== undefined) return type?.map === undefined ? undefined : typeOfField(type.map, name);
  return element.startsWith("k:") ? type?.list?.items() : undefined;
}
