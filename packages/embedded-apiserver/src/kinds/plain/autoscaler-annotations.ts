import { decodeStruct } from "../schema/decode.ts";
import type { StructSchema, TypeSchema } from "../schema/schema.ts";
import { structOf } from "../schema/struct-of.ts";

/**
 * Annotations of autoscaling/v1, which have what it has no fields for. The real server ignores those that Go cannot decode.
 *
 * Source of the types: k8s.io/api v0.36.3 autoscaling/v1/types.go.
 */

// oxlint-disable-next-line typescript/no-explicit-any -- metrics of every kind
type Fields = Readonly<Record<string, any>>;

const text: TypeSchema = { type: "string" };
const quantity: TypeSchema = { type: "quantity" };
const integer: TypeSchema = { type: "integer", bits: 32 };
const time: TypeSchema = { type: "time" };
const selector: TypeSchema = { type: "map", values: { type: "any" } };

/** @param value - such as `target` */
function metricSchema(value: "target" | "current"): StructSchema {
  const resource = { name: text, [`${value}AverageUtilization`]: integer, [`${value}AverageValue`]: quantity };
  return structOf("", {
    type: text,
    object: structOf("", {
      target: structOf("", { kind: text, name: text, apiVersion: text }),
      metricName: text,
      [`${value}Value`]: quantity,
      selector,
      averageValue: quantity,
    }),
    pods: structOf("", { metricName: text, [`${value}AverageValue`]: quantity, selector }),
    resource: structOf("", resource),
    containerResource: structOf("", { ...resource, container: text }),
    external: structOf("", { metricName: text, metricSelector: selector, [`${value}Value`]: quantity, [`${value}AverageValue`]: quantity }),
  });
}

/** Lists of an annotation: targets of metrics, their current values, or conditions. */
type AnnotatedList = "target" | "current" | "conditions";

const lists: Readonly<Record<AnnotatedList, StructSchema>> = {
  target: listOf(metricSchema("target")),
  current: listOf(metricSchema("current")),
  conditions: listOf(structOf("", { type: text, status: text, lastTransitionTime: time, reason: text, message: text })),
};

const rules = structOf("", {
  StabilizationWindowSeconds: integer,
  SelectPolicy: text,
  Policies: { type: "array", items: structOf("", { Type: text, Value: integer, PeriodSeconds: integer }) },
  Tolerance: quantity,
});

const behaviorSchema = structOf("", { ScaleUp: rules, ScaleDown: rules });

function listOf(items: TypeSchema): StructSchema {
  return structOf("", { items: { type: "array", items } });
}

/** Items of an annotation with a list; an item that is null has no fields. @returns `undefined` without a list that can be decoded */
export function annotatedList(annotation: string | undefined, type: AnnotatedList): readonly Fields[] | undefined {
  const items = parsed(annotation);
  if (!Array.isArray(items) || !isDecodable(lists[type], { items })) return undefined;
  return (items as readonly (Fields | null)[]).map((item) => item ?? {});
}

/** Behaviour in the names of Go's internal type, which are read in any case. @returns `undefined` without one that can be decoded */
export function annotatedBehavior(annotation: string | undefined): Fields | undefined {
  const behavior = parsed(annotation);
  if (typeof behavior !== "object" || behavior === null || Array.isArray(behavior)) return undefined;
  const named = inNames(behaviorSchema, behavior) as Fields;
  return isDecodable(behaviorSchema, named) ? named : undefined;
}

function inNames(schema: TypeSchema, value: unknown): unknown {
  if (schema.type === "array" && Array.isArray(value)) return value.map((item) => inNames(schema.items, item));
  if (schema.type !== "struct" || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => {
      const [name] = [...schema.fields.keys()].filter((field) => field.toLowerCase() === key.toLowerCase());
      const field = name === undefined ? undefined : schema.fields.get(name);
      return name === undefined || field === undefined ? [] : [[name, inNames(field.schema, member)]];
    }),
  );
}

function parsed(annotation: string | undefined): unknown {
  if (annotation === undefined) return undefined;
  try {
    return JSON.parse(annotation);
  } catch {
    return undefined;
  }
}

function isDecodable(schema: StructSchema, value: unknown): boolean {
  try {
    decodeStruct(schema, value);
    return true;
  } catch {
    return false;
  }
}
