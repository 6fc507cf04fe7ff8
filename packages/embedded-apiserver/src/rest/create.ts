import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { admitThrough } from "../admission/admission-plugin.ts";
import {
  alreadyExists,
  forbidden,
  generateNameConflict,
  invalid,
  notFound,
  plainFailure,
  type ApiStatusError,
} from "../errors/api-status-error.ts";
import { storageFormOf, type ApiMetadata, type ApiObject, type Kind } from "../kinds/kind.ts";
import { dropEmptyLists } from "../kinds/schema/empty-lists.ts";
import { randomSuffix } from "../kinds/random-suffix.ts";
import { StoredObject } from "../storage/storage.ts";
import { asRead } from "../storage/version-view.ts";
import { afterWrite, prepareWrite } from "../storage/webhook-view.ts";
import { checkCustomType } from "./custom-type.ts";
import { decodeObject } from "./decode-object.ts";
import { trackFields } from "./field-tracking.ts";
import { dropDuplicateOwners, metadataErrors, setNamespace } from "./metadata.ts";
import { admissionSubject, collectionOf, findKind, type RestContext, type WriteOptions } from "./rest-context.ts";
import type { Steps } from "./steps.ts";

/** Source: k8s.io/apiserver v0.36.3 pkg/storage/names/generate.go. */
const maxPrefixLength = 58;
/** Source: k8s.io/apiserver v0.36.3 pkg/registry/generic/registry/store.go, `maxNameGenerationCreateAttempts`. */
const nameAttempts = 8;

/**
 * Creates an object. Waits only for admission.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/create.go and pkg/registry/generic/registry/store.go, `Create`.
 *
 * @param namespace - namespace of the request; `""` for cluster-scoped kinds
 * @throws ApiStatusError like the API server: 400, 403, 404, 409 or 422
 */
export function* createObject(
  context: RestContext,
  kind: Kind,
  namespace: string,
  body: unknown,
  options: WriteOptions = {},
): Steps<StoredObject> {
  const object = decodeObject(kind, body, options);
  dropSystemFields(object.metadata);
  setNamespace(kind, object.metadata, namespace);
  checkNamespace(context, object, kind);
  dropDuplicateOwners(object, "before admission", options.warn);
  trackFields(context, kind, { object, old: undefined, options });
  const subject = admissionSubject("CREATE", { kind, namespace, name: object.metadata.name ?? "" }, options);
  const plugins = context.admission.pluginsFor(subject);
  if (plugins.length > 0) {
    yield* admitThrough(plugins, "mutate", { ...subject, object, old: undefined });
    setNamespace(kind, object.metadata, namespace);
  }
  dropDuplicateOwners(object, "after admission", options.warn);
  const isGenerated = prepareNew(context, kind, namespace, object);
  // Admission may have replaced the metadata.
  const { metadata } = object;
  checkObject(kind, object, options);
  if (plugins.length > 0) {
    using _held = options.dryRun === true ? undefined : kind.hold?.(object, context);
    yield* admitThrough(plugins, "validate", { ...subject, name: metadata.name, object, old: undefined });
  }
  dropEmptyLists(kind, object);
  const ordered = orderMetadata(object);
  const converting = prepareWrite(kind, ordered);
  if (converting !== undefined) yield converting;
  const collection = collectionOf(context, kind);
  const existing = collection.get(metadata.namespace ?? "", metadata.name);
  if (existing !== undefined) throw nameConflict(kind, existing.object, isGenerated);
  return options.dryRun === true ? dryRunResult(asRead(afterWrite(ordered), kind), metadata.resourceVersion) : collection.put(ordered);
}

/** Source: k8s.io/apiserver v0.36.3 pkg/registry/generic/registry/store.go, `Create`. */
function nameConflict(kind: Kind, { metadata }: Readonly<ApiObject>, isGenerated: boolean): ApiStatusError {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  return isGenerated ? generateNameConflict(kind, metadata.name, isDeleted) : alreadyExists(kind, metadata.name, isDeleted);
}

/** Sets the fields that the server owns. @returns whether the name was generated */
function prepareNew(context: RestContext, kind: Kind, namespace: string, object: ApiObject): boolean {
  const { metadata } = object;
  metadata.uid = context.random.uuid();
  metadata.creationTimestamp = rfc3339(context.clock.now());
  if (kind.hasGeneration === true) metadata.generation = 1;
  const isGenerated = !metadata.name && Boolean(metadata.generateName);
  if (isGenerated) metadata.name = freeName(context, kind, namespace, metadata.generateName ?? "");
  kind.prepareForCreate?.(object, context);
  return isGenerated;
}

function dropSystemFields(metadata: Partial<ApiMetadata>): void {
  for (const field of ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const) delete metadata[field];
}

function checkObject(kind: Kind, object: ApiObject, { dryRun = false, warn }: WriteOptions): void {
  const { metadata } = object;
  if (kind.custom !== undefined) checkCustomType(kind, object, metadata.name ?? "");
  const errors = [...metadataErrors(kind, metadata), ...(kind.validate?.(object, undefined) ?? [])];
  if (errors.length > 0) throw invalid({ kind: kind.kind, group: storageFormOf(kind).group }, metadata.name ?? "", errors);
  if (warn !== undefined) for (const warning of kind.warnings?.(object, undefined) ?? []) warn(warning);
  // The real server reports this only when storing, and without a specific reason.
  if (!dryRun && metadata.resourceVersion && metadata.resourceVersion !== "0") {
    throw plainFailure("resourceVersion should not be set on objects to be created");
  }
}

/** Source: k8s.io/apiserver v0.36.3 pkg/registry/generic/registry/dryrun.go, which keeps a version that the client sent. */
function dryRunResult(object: ApiObject, given: string | undefined): StoredObject {
  const { resourceVersion: _none, ...rest } = object.metadata;
  const metadata = given ? { ...rest, resourceVersion: given } : rest;
  return new StoredObject({ ...object, metadata } as ApiObject, 0);
}

function freeName(context: RestContext, kind: Kind, namespace: string, prefix: string): string {
  let name = "";
  for (let attempt = 0; attempt < nameAttempts; attempt++) {
    name = prefix.slice(0, maxPrefixLength) + randomSuffix(context.random);
    if (collectionOf(context, kind).get(namespace, name) === undefined) break;
  }
  return name;
}

/** Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/namespace/lifecycle/admission.go. */
function checkNamespace(context: RestContext, object: Readonly<ApiObject>, kind: Kind): void {
  const { namespace } = object.metadata;
  const namespaces = findKind(context, "", "namespaces");
  if (namespace === undefined || namespaces === undefined) return;
  const stored = collectionOf(context, namespaces).get("", namespace);
  if (stored === undefined) throw notFound(namespaces, namespace);
  if (stored.object.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    kind,
    object.metadata.name ?? "",
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [{ reason: "NamespaceTerminating", message: `namespace ${namespace} is being terminated`, field: "metadata.namespace" }],
  );
}

/** Orders metadata as the API server does, so that objects are easy to compare. */
function orderMetadata(object: ApiObject): ApiObject {
  const { name, generateName, namespace, uid, generation, creationTimestamp, ...rest } = object.metadata;
  const metadata = {
    name,
    ...(generateName === undefined ? {} : { generateName }),
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    resourceVersion: "",
    ...(generation === undefined ? {} : { generation }),
    creationTimestamp,
  };
  return { ...object, metadata: { ...metadata, ...rest, resourceVersion: "" } };
}
