/**
 * Facts about a JSON API: names and types of fields. A field is written as `TYPE`, `TYPE!` (required) or `TYPE-` (read-only: only in answers).
 *
 * A type is `string`, `integer` (32 bits), `number`, `boolean`, `object` (any JSON value), the name of an enum or of a type, `TYPE[]`, or
 * `map<TYPE>`.
 */
export interface SchemaFacts {
  /** Origin of the facts. */
  readonly source: string;
  readonly enums: Readonly<Record<string, readonly string[]>>;
  readonly types: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A parsed field of {@link SchemaFacts}. */
export interface FieldFact {
  readonly type: string;
  readonly isRequired: boolean;
  readonly isReadOnly: boolean;
}

/** Parses a field of {@link SchemaFacts}. */
export function parseField(text: string): FieldFact {
  const mark = text.at(-1);
  const isMarked = mark === "!" || mark === "-";
  return { type: isMarked ? text.slice(0, -1) : text, isRequired: mark === "!", isReadOnly: mark === "-" };
}
