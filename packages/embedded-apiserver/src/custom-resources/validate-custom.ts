import { expressions } from "../cel/engine.ts";
import type { JsonValue } from "../json/json-value.ts";
import type { ApiObject, CustomKind, FieldError, Kind } from "../kinds/kind.ts";
import { required } from "../kinds/validation/field-errors.ts";
import { standardFinalizers } from "../kinds/validation/finalizers.ts";
import { annotationsErrors } from "../rest/metadata.ts";
import { Correlation } from "./correlation.ts";
import type { JsonSchema } from "./crd-fields.ts";
import { scaleErrors } from "./custom-scale.ts";
import { embeddedObjectErrors, mayEmbedObjects } from "./embedded-objects.ts";
import { listTypeErrors } from "./list-types.ts";
import { hasRules } from "./validate-rules.ts";
import { valueErrors } from "./validate-value.ts";

const blocking: ReadonlySet<FieldError["reason"]> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const notChecked: FieldError = {
  field: "<nil>",
  reason: "FieldValueInvalid",
  message:
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete " +
    "validation",
};

/** Errors of metadata that keep rules from being checked; they are reported with those of all kinds. */
function blockingMetadata({ metadata: { name, annotations } }: Readonly<ApiObject>): FieldError[] {
  return [...(name ? [] : [required("metadata.name")]), ...annotationsErrors(annotations, "metadata.annotations")];
}

/** A write of the status validates only the status, whose errors name its fields without `status`. Source: validator.go, `ValidateStatusUpdate`. */
function statusErrors(object: Readonly<ApiObject>, schema: JsonSchema, correlation: Correlation | undefined): FieldError[] {
  const status: JsonValue | undefined = object["status"];
  const statusSchema = schema.properties?.["status"];
  if (status === undefined || statusSchema === undefined) return [];
  return valueErrors(status, statusSchema, "", correlation?.key("status")).map((error) => {
    const { field } = error;
    return { ...error, field: field === "<nil>" ? "status" : `status.${field}` };
  });
}

/**
 * Warnings about new finalizers without a domain, in the order of their names.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/registry/customresource/strategy.go, `generateWarningsFromObj`, and validator.go.
 */
export function finalizerWarnings(object: Readonly<ApiObject>, old: Readonly<ApiObject> | undefined): readonly string[] {
  const known: ReadonlySet<string> = new Set([...standardFinalizers, ...(old?.metadata.finalizers ?? [])]);
  return [...new Set(object.metadata.finalizers)]
    .filter((finalizer) => !finalizer.includes("/") && !known.has(finalizer))
    .toSorted()
    .map((finalizer) => {
      const name = `finalizer name${finalizer.includes(".") ? " including a path (/)" : ""}`;
      return `metadata.finalizers: ${JSON.stringify(finalizer)}: prefer a domain-qualified ${name} to avoid accidental conflicts with other finalizer writers`;
    });
}

/**
 * Validation of a custom resource: its schema, then the schema's rules. Of an update, what has not changed is not validated again.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/registry/customresource/strategy.go, `Validate` and `ValidateUpdate`.
 */
export function customErrors(schema: JsonSchema, scale?: CustomKind["scale"]): NonNullable<Kind["validate"]> {
  let rules: ReturnType<ReturnType<typeof expressions>["createRuleValidator"]>;
  const embedsObjects = mayEmbedObjects(schema);
  let areRulesCompiled = !hasRules(schema);
  return (object, old, warn, scope) => {
    const correlation = old === undefined ? undefined : new Correlation(object, old, schema);
    const errors = scope === "status" ? statusErrors(object, schema, correlation) : valueErrors(object, schema, "", correlation);
    if (scale !== undefined) errors.push(...scaleErrors(object, scale));
    // Source: status_strategy.go of the same package.
    if (embedsObjects && scope !== "status") errors.push(...embeddedObjectErrors(object, schema));
    if (old === undefined || listTypeErrors(old, schema, "").length === 0) errors.push(...listTypeErrors(object, schema, ""));
    if (!areRulesCompiled) {
      rules = expressions().createRuleValidator(schema);
      areRulesCompiled = true;
    }
    if (rules === undefined) return errors;
    if ([...errors, ...blockingMetadata(object)].some(({ reason }) => blocking.has(reason))) return [...errors, notChecked];
    return [...errors, ...rules.validate(object, { old, correlation, warn })];
  };
}
