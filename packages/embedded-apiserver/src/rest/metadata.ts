import { badRequest } from "../errors/api-status-error.ts";
import { equalJson } from "../json/json-value.ts";
import { groupVersionProblem } from "../kinds/api-version.ts";
import type { ApiMetadata, ApiObject, FieldError, Kind } from "../kinds/kind.ts";
import { forbiddenField, invalidValue, required, tooLong } from "../kinds/validation/field-errors.ts";
import { standardFinalizers } from "../kinds/validation/finalizers.ts";
import { each, labelsErrors } from "../kinds/validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems, pathSegmentPrefixProblems, pathSegmentProblems } from "../kinds/validation/names.ts";
import { labelKeyProblems } from "../kinds/validation/label-syntax.ts";

/** Source: k8s.io/apimachinery v0.36.3 pkg/api/validation/objectmeta.go, `TotalAnnotationSizeLimitB`. */
const annotationsLimitBytes = 256 * 1024;

/**
 * Sets the namespace of an object to that of the request.
 *
 * @throws ApiStatusError 400 if the object has another one
 */
export function setNamespace(kind: Kind, metadata: ApiMetadata, namespace: string): void {
  checkNamespace(kind, metadata, namespace);
  if (kind.namespaced) metadata.namespace = namespace;
  else delete metadata.namespace;
}

/** Checks that an object of a namespaced kind names the request's namespace, or none. @throws ApiStatusError 400 */
export function checkNamespace(
  { namespaced }: Pick<Kind, "namespaced">,
  { namespace: given = "" }: { readonly namespace?: unknown },
  namespace: string,
): void {
  if (namespaced && given !== "" && given !== namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

/**
 * Checks that an object has the name in the URL.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/rest.go, `checkName`.
 *
 * @throws ApiStatusError 400
 */
export function checkName({ name: given }: { readonly name?: unknown }, name: string): void {
  if (given === undefined || given === null || given === "")
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (given !== name) throw badRequest(`the name of the object (${String(given)}) does not match the name on the URL (${name})`);
}

/**
 * Validates metadata.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/api/validation/objectmeta.go, `ValidateObjectMetaAccessor`.
 */
export function metadataErrors(kind: Kind, metadata: ApiMetadata): FieldError[] {
  return [...nameErrors(kind, metadata), ...commonErrors(metadata, "metadata"), ...unqualifiedFinalizers(kind, metadata)];
}

/**
 * Validates the metadata of an object within a custom resource, which needs no name.
 *
 * Source: the same file, `ValidateObjectMeta`, and k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/objectmeta/validation.go.
 *
 * @param field - such as `spec.template.metadata`
 */
export function embeddedMetadataErrors(metadata: Partial<ApiMetadata>, field: string): FieldError[] {
  const { name = "", generateName = "", namespace = "", generation = 0 } = metadata;
  return [
    ...each(`${field}.generateName`, generateName, pathSegmentPrefixProblems(generateName)),
    ...each(`${field}.name`, name, pathSegmentProblems(name)),
    ...(namespace === "" ? [] : each(`${field}.namespace`, namespace, dnsLabelProblems(namespace))),
    ...(generation < 0 ? [invalidValue(`${field}.generation`, generation, "must be greater than or equal to 0")] : []),
    ...commonErrors(metadata, field),
  ];
}

function commonErrors(metadata: Partial<ApiMetadata>, field: string): FieldError[] {
  return [
    ...labelsErrors(metadata.labels, `${field}.labels`),
    ...annotationsErrors(metadata.annotations, `${field}.annotations`),
    ...ownerErrors(metadata, `${field}.ownerReferences`),
    ...finalizerErrors(metadata, `${field}.finalizers`),
  ];
}

function nameErrors(kind: Kind, { name, generateName, namespace }: ApiMetadata): FieldError[] {
  const problemsOf = kind.nameProblems ?? dnsSubdomainProblems;
  // Names that are only segments of a path are validated as prefixes like names.
  const isSegment = problemsOf === pathSegmentProblems;
  const prefixProblems = generateName ? problemsOf(isSegment ? generateName : withoutDash(generateName)) : [];
  const nameProblems = name
    ? each("metadata.name", name, problemsOf(name))
    : [required("metadata.name", "name or generateName is required")];
  const errors = [...each("metadata.generateName", generateName, prefixProblems), ...nameProblems];
  return name && kind.namespaced && namespace === undefined ? [...errors, required("metadata.namespace")] : errors;
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/api/validation/generic.go, `maskTrailingDash`, which also replaces the character before the dash. */
function withoutDash(generateName: string): string {
  return generateName.length > 1 && generateName.endsWith("-") ? `${generateName.slice(0, -2)}a` : generateName;
}

/** Source: the same file, `ValidateAnnotations`. */
export function annotationsErrors(annotations: Readonly<Record<string, string>> | undefined, field: string): FieldError[] {
  const entries = Object.entries(annotations ?? {});
  const errors = entries.flatMap(([key]) => each(field, key, labelKeyProblems(key.toLowerCase())));
  const bytes = entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return bytes > annotationsLimitBytes ? [...errors, tooLong(field, annotationsLimitBytes)] : errors;
}

function ownerErrors({ ownerReferences = [] }: Partial<ApiMetadata>, field: string): FieldError[] {
  const errors: FieldError[] = [];
  let controller: string | undefined;
  for (const owner of ownerReferences) {
    if (!hasVersion(owner.apiVersion))
      errors.push(invalidValue(`${field}.apiVersion`, owner.apiVersion ?? "", "version must not be empty"));
    if (!owner.kind) errors.push(invalidValue(`${field}.kind`, owner.kind ?? "", "must not be empty"));
    if (!owner.name) errors.push(invalidValue(`${field}.name`, owner.name ?? "", "must not be empty"));
    if (!owner.uid) errors.push(invalidValue(`${field}.uid`, owner.uid ?? "", "must not be empty"));
    if (owner.apiVersion === "v1" && owner.kind === "Event")
      errors.push(invalidValue(field, owner, "/v1, Kind=Event is disallowed from being an owner"));
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller === undefined) controller = name;
    else {
      const problem = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`;
      errors.push(invalidValue(field, ownerReferences, problem));
    }
  }
  return errors;
}

function hasVersion(apiVersion = ""): boolean {
  return groupVersionProblem(apiVersion) === undefined && apiVersion !== "" && !apiVersion.endsWith("/");
}

function finalizerErrors({ finalizers = [] }: Partial<ApiMetadata>, field: string): FieldError[] {
  const errors = finalizers.flatMap((finalizer) => each(field, finalizer, labelKeyProblems(finalizer)));
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion"))
    errors.push(invalidValue(field, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"));
  return errors;
}

/** Groups of built-in kinds whose finalizers need no domain, like those of custom resources. */
const groupsWithAnyFinalizer: ReadonlySet<string> = new Set([
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "policy",
]);

/** Source: kubernetes v1.36.3 pkg/apis/core/validation/validation.go, `ValidateObjectMeta`. */
function unqualifiedFinalizers({ group, custom }: Kind, { finalizers = [] }: ApiMetadata): FieldError[] {
  if (custom !== undefined || groupsWithAnyFinalizer.has(group)) return [];
  const problem = "name is neither a standard finalizer name nor is it fully qualified";
  return finalizers.flatMap((finalizer, index) =>
    finalizer.includes("/") || standardFinalizers.has(finalizer) ? [] : [invalidValue(`metadata.finalizers[${index}]`, finalizer, problem)],
  );
}

const texts: ReadonlySet<string> = new Set(["name", "namespace", "uid"]);

/**
 * Validates the changes of an update to metadata.
 *
 * Source: the same file, `ValidateObjectMetaAccessorUpdate`.
 */
export function metadataUpdateErrors(metadata: ApiMetadata, old: Readonly<ApiMetadata>): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const added = (metadata.finalizers ?? []).filter((finalizer) => !old.finalizers?.includes(finalizer)).toSorted();
    if (added.length > 0) {
      const list = added.map((finalizer) => JSON.stringify(finalizer)).join(", ");
      const problem = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
      errors.push(forbiddenField("metadata.finalizers", problem));
    }
  }
  for (const field of ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const) {
    if (!equalJson(metadata[field], old[field]))
      errors.push(invalidValue(`metadata.${field}`, metadata[field] ?? (texts.has(field) ? "" : null), "field is immutable"));
  }
  return errors;
}

/**
 * Removes duplicate owner references. Modifies the object.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/rest.go, `dedupOwnerReferencesAndAddWarning`.
 *
 * @param when - creations and replacements are looked at twice, patches only after mutating admission
 */
export function dropDuplicateOwners(
  object: ApiObject,
  when: "before admission" | "after admission",
  warn?: (message: string) => void,
): void {
  const owners = object.metadata.ownerReferences;
  if (owners === undefined) return;
  const isFirst = (owner: object, index: number): boolean => owners.findIndex((other) => equalJson(other, owner)) === index;
  const uids = owners.filter((owner, index) => !isFirst(owner, index)).map(({ uid }) => uid);
  object.metadata.ownerReferences = owners.filter(isFirst);
  if (uids.length === 0) return;
  const place = when === "before admission" ? "" : " after mutating admission happens";
  warn?.(
    `.metadata.ownerReferences contains duplicate entries${place}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(", ")}`,
  );
}
