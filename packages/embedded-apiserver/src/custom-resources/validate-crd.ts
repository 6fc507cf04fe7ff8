import { equalJson } from "../json/json-value.ts";
import type { ApiObject, FieldError } from "../kinds/kind.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../kinds/validation/field-errors.ts";
import { clientConfigErrors } from "../kinds/plain/validate-webhooks.ts";
import { immutableErrors } from "../kinds/validation/immutable.ts";
import { dns1035LabelProblems, dnsSubdomainProblems } from "../kinds/validation/names.ts";
import { approvalErrors } from "./api-approval.ts";
import type { CrdNames, CrdSpec, CrdStatus, CrdVersion, JsonSchema } from "./crd-fields.ts";
import { internalVersions } from "./internal-versions.ts";
import { rulesErrors } from "./validate-rules.ts";
import { defaultErrors, structuralErrors } from "./validate-schema.ts";

/** Source of this file: k8s.io/apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/validation/validation.go. */

/** Validates a CustomResourceDefinition. */
export function crdErrors(definition: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: CrdSpec = definition["spec"];
  const name = definition.metadata.name;
  const isNamed = name === `${spec.names.plural}.${spec.group}`;
  return [
    ...(isNamed ? [] : [invalidValue("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]),
    ...specErrors(spec),
    // An update of the status does not change the spec.
    ...(old !== undefined && old["spec"] === spec ? [] : storedVersionErrors(definition["status"], spec.versions ?? [])),
    ...(old === undefined ? [] : updateErrors(spec, old["spec"], isEstablished(old["status"]))),
    ...approvalErrors({ ...definition, spec }, old === undefined ? undefined : { ...old, spec: old["spec"] }),
  ];
}

function isEstablished({ conditions }: CrdStatus): boolean {
  return (conditions ?? []).some(({ type, status }) => type === "Established" && status === "True");
}

function updateErrors(spec: CrdSpec, old: CrdSpec, isEstablished: boolean): FieldError[] {
  return [
    ...(isEstablished
      ? [...immutableErrors(spec.scope, old.scope, "spec.scope"), ...immutableErrors(spec.names.kind, old.names.kind, "spec.names.kind")]
      : []),
    ...immutableErrors(spec.group, old.group, "spec.group"),
    ...immutableErrors(spec.names.plural, old.names.plural, "spec.names.plural"),
  ];
}

function specErrors(spec: CrdSpec): FieldError[] {
  const versions = spec.versions ?? [];
  const names = versions.map(({ name }) => name);
  return [
    ...groupErrors(spec.group),
    ...scopeErrors(spec.scope),
    ...versions.flatMap(({ schema }, index) =>
      schema?.openAPIV3Schema === undefined ? [required(`spec.versions[${String(index)}].schema.openAPIV3Schema`)] : [],
    ),
    ...versions.flatMap((version, index) => versionErrors(version, `spec.versions[${String(index)}]`)),
    ...partErrors(
      versions,
      { part: ({ schema }) => schema, own: "schema", shared: "spec.validation" },
      ({ openAPIV3Schema: schema }, field) => (schema === undefined ? [] : schemaErrors(schema, `${field}.openAPIV3Schema`)),
    ),
    ...partErrors(versions, { part: ({ subresources }) => subresources, own: "subresources", shared: "spec.subresources" }, scaleErrors),
    ...partErrors(
      versions,
      {
        part: ({ additionalPrinterColumns }) => additionalPrinterColumns,
        own: "additionalPrinterColumns",
        shared: "spec.additionalPrinterColumns",
      },
      columnsErrors,
    ),
    ...(new Set(names).size < names.length
      ? [invalidValue("spec.versions", internalVersions(spec.versions), "must contain unique version names")]
      : []),
    ...(versions.filter(({ storage }) => storage).length === 1
      ? []
      : [invalidValue("spec.versions", internalVersions(spec.versions), "must have exactly one version marked as storage version")]),
    // The internal type also has the first version's name in a field of its own.
    ...nameErrors(names[0], "spec.version"),
    ...namesErrors(spec.names),
    ...conversionErrors(spec),
  ];
}

/** Rules are looked at only if their schema is structural. */
function schemaErrors(schema: JsonSchema, field: string): FieldError[] {
  const errors = structuralErrors(schema, field);
  return errors.length > 0 ? errors : [...defaultErrors(schema, field), ...rulesErrors(schema, field)];
}

function groupErrors(group: string): FieldError[] {
  const field = "spec.group";
  if (group === "") return [required(field)];
  const problems = dnsSubdomainProblems(group);
  if (problems.length > 0) return [invalidValue(field, group, problems.join(","))];
  return group.includes(".") ? [] : [invalidValue(field, group, "should be a domain with at least one dot")];
}

function scopeErrors(scope: string): FieldError[] {
  if (scope === "") return [required("spec.scope")];
  return scope === "Cluster" || scope === "Namespaced" ? [] : [notSupported("spec.scope", scope, ["Cluster", "Namespaced"])];
}

function versionErrors({ name, deprecated, deprecationWarning: warning }: CrdVersion, field: string): FieldError[] {
  const problems = warning === undefined ? [] : deprecationWarningProblems(warning, deprecated === true);
  return [
    ...nameErrors(name, `${field}.name`),
    ...problems.map((problem) => invalidValue(`${field}.deprecationWarning`, warning, problem)),
  ];
}

function nameErrors(name: string | undefined, field: string): FieldError[] {
  const problems = name === undefined ? [] : dns1035LabelProblems(name);
  return problems.length > 0 ? [invalidValue(field, name, problems.join(","))] : [];
}

/** Source: `validateDeprecationWarning`. */
function deprecationWarningProblems(warning: string, isDeprecated: boolean): string[] {
  if (!isDeprecated) return ["can only be set for deprecated versions"];
  const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(warning);
  return [
    ...(Buffer.byteLength(warning) > 256 ? ["must be <= 256 characters long"] : []),
    ...(warning === "" ? ["must not be an empty string"] : []),
    ...(unprintable === null
      ? []
      : [
          "must only contain printable UTF-8 characters; non-printable character found at index " +
            String(Buffer.byteLength(warning.slice(0, unprintable.index))),
        ]),
  ];
}

/** Source: `ValidateCustomResourceDefinitionStoredVersions`. */
function storedVersionErrors({ storedVersions }: CrdStatus, versions: readonly CrdVersion[]): FieldError[] {
  const field = "status.storedVersions";
  if ((storedVersions ?? []).length === 0) return [invalidValue(field, storedVersions, "must have at least one stored version")];
  const stored = storedVersions ?? [];
  // A version that occurs twice is found once.
  const left = new Set(stored);
  return [
    ...versions.flatMap(({ name, storage }) =>
      !left.delete(name) && storage ? [invalidValue(field, stored, `must have the storage version ${name}`)] : [],
    ),
    ...stored.flatMap((name, index) =>
      !left.has(name)
        ? []
        : [
            invalidValue(
              `${field}[${String(index)}]`,
              name,
              `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ` +
                `ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
            ),
          ],
    ),
  ];
}

/**
 * Errors of a part that every version has. The real server stores it once if it is the same in all versions, and names that field.
 *
 * @param shared - field of the shared part, such as `spec.validation`
 */
function partErrors<Part>(
  versions: readonly CrdVersion[],
  { part, own, shared }: { readonly part: (version: CrdVersion) => Part | undefined; readonly own: string; readonly shared: string },
  errorsOf: (part: Part, field: string) => FieldError[],
): FieldError[] {
  const parts = versions.map(part);
  const [first] = parts;
  if (first !== undefined && parts.every((other) => equalJson(other, first))) return errorsOf(first, shared);
  return parts.flatMap((one, index) => (one === undefined ? [] : errorsOf(one, `spec.versions[${index}].${own}`)));
}

function scaleErrors({ scale }: NonNullable<CrdVersion["subresources"]>, field: string): FieldError[] {
  if (scale === undefined) return [];
  return [
    ...replicasPathErrors(scale.specReplicasPath, ".spec.", `${field}.scale.specReplicasPath`),
    ...replicasPathErrors(scale.statusReplicasPath, ".status.", `${field}.scale.statusReplicasPath`),
  ];
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];

function columnsErrors(columns: NonNullable<CrdVersion["additionalPrinterColumns"]>, field: string): FieldError[] {
  const types = `must be one of ${columnTypes.join(",")}`;
  return columns.flatMap(({ name, type, jsonPath }, index) => [
    ...(name === "" ? [required(`${field}[${index}].name`)] : []),
    ...(type === "" ? [required(`${field}[${index}].type`, types)] : []),
    ...(type === "" || columnTypes.includes(type) ? [] : [invalidValue(`${field}[${index}].type`, type, types)]),
    ...(jsonPath === "" ? [required(`${field}[${index}].JSONPath`)] : []),
  ]);
}

function replicasPathErrors(path: string, prefix: string, field: string): FieldError[] {
  if (path === "") return [required(field)];
  return path.startsWith(prefix) ? [] : [invalidValue(field, path, `should be a json path under ${prefix.slice(0, -1)}`)];
}

function namesErrors({ plural, singular = "", kind, listKind = "", shortNames = [], categories = [] }: CrdNames): FieldError[] {
  const label = (field: string, value: string, prefix = ""): FieldError[] => {
    const problems = value === "" ? [] : dns1035LabelProblems(value.toLowerCase());
    return problems.length === 0 ? [] : [invalidValue(`spec.names.${field}`, value, `${prefix}${problems.join(",")}`)];
  };
  const mixed = "may have mixed case, but should otherwise match: ";
  return [
    ...(plural === "" ? [required("spec.names.plural")] : []),
    ...(singular === "" ? [required("spec.names.singular")] : []),
    ...(kind === "" ? [required("spec.names.kind")] : []),
    ...(listKind === "" ? [required("spec.names.listKind")] : []),
    ...label("plural", plural),
    ...label("singular", singular),
    ...label("kind", kind, mixed),
    ...label("listKind", listKind, mixed),
    ...shortNames.flatMap((name, index) => label(`shortNames[${index}]`, name)),
    ...(kind !== "" && kind === listKind ? [invalidValue("spec.names.listKind", listKind, "kind and listKind may not be the same")] : []),
    ...categories.flatMap((name, index) => label(`categories[${index}]`, name)),
  ];
}

/** Source: `validateCustomResourceConversion`; the fields are those of the internal type. */
function conversionErrors({ conversion }: CrdSpec): FieldError[] {
  const { strategy = "None", webhook } = conversion ?? {};
  const field = "spec.conversion";
  if (strategy !== "None" && strategy !== "Webhook") return [notSupported(`${field}.strategy`, strategy, ["None", "Webhook"])];
  const { clientConfig, conversionReviewVersions: versions = [] } = webhook ?? {};
  if (strategy === "None")
    return [
      ...(clientConfig === undefined
        ? []
        : [forbiddenField(`${field}.webhookClientConfig`, "should not be set when strategy is not set to Webhook")]),
      ...(versions.length === 0
        ? []
        : [forbiddenField(`${field}.conversionReviewVersions`, "should not be set when strategy is not set to Webhook")]),
    ];
  return [
    ...(clientConfig === undefined
      ? [required(`${field}.webhookClientConfig`, "required when strategy is set to Webhook")]
      : clientConfigErrors(clientConfig, `${field}.webhookClientConfig`)),
    ...reviewVersionsErrors(versions, `${field}.conversionReviewVersions`),
  ];
}

function reviewVersionsErrors(versions: readonly string[], field: string): FieldError[] {
  if (versions.length === 0) return [required(field)];
  const isAccepted = versions.some((version) => version === "v1" || version === "v1beta1");
  return [
    ...versions.flatMap((version, index) =>
      versions.indexOf(version) < index
        ? [invalidValue(`${field}[${index}]`, version, "duplicate version")]
        : dns1035LabelProblems(version).map((problem) => invalidValue(`${field}[${index}]`, version, problem)),
    ),
    ...(isAccepted ? [] : [invalidValue(field, versions, "must include at least one of v1, v1beta1")]),
  ];
}
