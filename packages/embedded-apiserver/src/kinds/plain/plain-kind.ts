import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Column, Kind } from "../kind.ts";
import { decode } from "../schema/decode.ts";
import { structSchema } from "../schema/schema.ts";

/** A kind that is stored and shown, but on which the server does not act. */
export interface PlainKind extends Omit<Kind, "version" | "singular" | "schema"> {
  /** Default: `v1`. */
  readonly version?: string;
  /** Default: the kind in lower case. */
  readonly singular?: string;
  /** OpenAPI definition; default: the kind in `io.k8s.api.GROUP.VERSION`. */
  readonly schema?: string;
  /** Fields whose changes increment `metadata.generation`. */
  readonly counted?: readonly string[];
}

/** Adds names, generation and the initial status to a kind's own properties. */
export function plainKind({ counted, ...given }: PlainKind): Kind {
  const { group, version = "v1", kind, hasStatus } = given;
  const schema = given.schema ?? `io.k8s.api.${group === "" ? "core" : (group.split(".", 1)[0] ?? "")}.${version}.${kind}`;
  return {
    ...given,
    version,
    schema,
    singular: given.singular ?? kind.toLowerCase(),
    ...(counted === undefined ? {} : { hasGeneration: true }),
    ...(given.validate === undefined
      ? {}
      : {
          validate(object: ApiObject, old: ApiObject | undefined) {
            const known = new Map<unknown, unknown>();
            const before = old === undefined ? undefined : (withoutNulls(old, known) as ApiObject);
            return given.validate?.(withoutNulls(object, known) as ApiObject, before) ?? [];
          },
        }),
    prepareForCreate(object, context) {
      if (hasStatus === true) object["status"] = emptyStatus(schema);
      given.prepareForCreate?.(object, context);
    },
    prepareForUpdate(object, old, context) {
      given.prepareForUpdate?.(object, old, context);
      if (counted?.some((field) => !equalJson(object[field], old[field]))) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
    },
  };
}

/**
 * Copy without the nulls that the server writes for absent lists, so that validation need not expect them.
 *
 * @param known - copies made so far: parts that two objects share are shared by their copies
 */
function withoutNulls(value: unknown, known: Map<unknown, unknown>): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (known.has(value)) return known.get(value);
  const copy = Array.isArray(value)
    ? value.map((item) => withoutNulls(item, known))
    : Object.fromEntries(
        Object.entries(value)
          .filter(([, child]) => child !== null)
          .map(([name, child]) => [name, withoutNulls(child, known)]),
      );
  known.set(value, copy);
  return copy;
}

/** Empty status as the server writes it. */
function emptyStatus(definition: string): unknown {
  const field = structSchema(definition).fields.get("status");
  return field?.schema.type === "struct" ? decode(field.schema.definition, {}).object : {};
}

export function textColumn(name: string, description: string, cell: (object: ApiObject) => string | undefined): Column {
  return { name, type: "string", description, cell: (object) => cell(object) ?? "" };
}

/** First values of a list, and the number of further ones. Source: Kubernetes v1.36.3 pkg/printers, `listWithMoreString`. */
export function firstOf(values: readonly string[], limit = 3): string {
  const shown = values.slice(0, limit).join(",");
  return values.length > limit ? `${shown} + ${values.length - limit} more...` : shown;
}
