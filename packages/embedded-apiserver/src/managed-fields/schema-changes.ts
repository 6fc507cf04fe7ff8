import { emptySet, type FieldSet, isEmptySet, mapNodes } from "./field-set.ts";
import type { MergeType } from "./merge-type.ts";
import { typeAt } from "./named-fields.ts";

/**
 * Fields of a manager after the schema of a custom resource has changed: who owned a part of what now has one owner as a whole owns the whole.
 * What is no longer atomic stays owned as a whole.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 typed/reconcile_schema.go.
 */
export function fieldsInSchema(fields: FieldSet, type: MergeType): FieldSet {
  return mapNodes(fields, (element, node) => {
    const child = typeAt(type, element);
    if (child === undefined || isEmptySet(node.children)) return node;
    if (isWhole(child)) return { isMember: true, children: emptySet };
    return { isMember: node.isMember, children: fieldsInSchema(node.children, child) };
  });
}

function isWhole({ map, scalar, list }: MergeType): boolean {
  if (map !== undefined) return map.isAtomic;
  return scalar === undefined && list !== undefined && list.isAtomic;
}
