import { goJsonError } from "../../json/go-json-error.ts";
import { InexactIntegerError, parseExactJson } from "../../json/exact-json.ts";
import { decodeStruct, DecodeError } from "../../kinds/schema/decode.ts";
import type { StructSchema, TypeSchema } from "../../kinds/schema/schema.ts";
import { structOf } from "../../kinds/schema/struct-of.ts";

/** Kinds of the metrics APIs' responses. */
export type MetricsList = "PodMetricsList" | "MetricValueList" | "ExternalMetricValueList";

const text: TypeSchema = { type: "string" };
const value = { value: { type: "quantity" }, timestamp: { type: "time" }, windowSeconds: { type: "integer", bits: 64 } } as const;

/** Source: k8s.io/metrics v0.36.3 pkg/apis: metrics/v1beta1, custom_metrics/v1beta2 and external_metrics/v1beta1. */
const lists: Readonly<Record<MetricsList, StructSchema>> = {
  PodMetricsList: listOf("PodMetrics", {
    metadata: structOf("ObjectMeta", { name: text }),
    timestamp: { type: "time" },
    window: { type: "string", goType: "v1.Duration" },
    containers: {
      type: "array",
      items: structOf("ContainerMetrics", { name: text, usage: { type: "map", values: { type: "quantity" } } }),
    },
  }),
  MetricValueList: listOf("MetricValue", { ...value, describedObject: structOf("ObjectReference", { name: text }) }),
  ExternalMetricValueList: listOf("ExternalMetricValue", value),
};

function listOf(definition: string, fields: Readonly<Record<string, TypeSchema>>): StructSchema {
  return structOf(`${definition}List`, { items: { type: "array", items: structOf(definition, fields) } });
}

/**
 * Decodes a response of a metrics API, which may come from another server. Unknown fields are ignored.
 *
 * @returns the items, or the problem in the words of Go's decoder
 */
export function decodeMetrics(list: MetricsList, body: string): { readonly items: readonly unknown[] } | { readonly problem: string } {
  try {
    const { items } = decodeStruct(lists[list], parseExactJson(body)).object as { readonly items?: readonly unknown[] };
    return { items: items ?? [] };
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: goJsonError(body) ?? error.message };
    if (error instanceof DecodeError || error instanceof InexactIntegerError) return { problem: error.message };
    throw error;
  }
}
