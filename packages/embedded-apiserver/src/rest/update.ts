import { admitThrough, type AdmissionPlugin } from "../admission/admission-plugin.ts";
import { ApiStatusError, invalid, modifiedConflict, notFound, plainFailure, uidConflictOnUpdate } from "../errors/api-status-error.ts";
import { equalJson } from "../json/json-value.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import { dropEmptyLists } from "../kinds/schema/empty-lists.ts";
import { storageFormOf, type ApiObject, type Kind } from "../kinds/kind.ts";
import { asRead } from "../storage/version-view.ts";
import { afterConversion, afterWrite, prepareWrite } from "../storage/webhook-view.ts";
import { StoredObject } from "../storage/storage.ts";
import { checkCustomType } from "./custom-type.ts";
import { trackFields } from "./field-tracking.ts";
import { checkName, dropDuplicateOwners, metadataErrors, metadataUpdateErrors, setNamespace } from "./metadata.ts";
import { admissionSubject, collectionOf, type ObjectAddress, type RestContext, type WriteOptions } from "./rest-context.ts";
import type { Steps } from "./steps.ts";

/** Options of {@link updateObject}. */
export interface UpdateOptions extends WriteOptions {
  /**
   * `status` writes only the status; `undefined` writes everything else. `all` is for the server itself: it writes the whole object without
   * the checks for clients.
   */
  readonly scope?: "status" | "all";
  /** Precondition: UID of the object. */
  readonly uid?: string | undefined;
  /** Form of the object that admission sees; default: the object itself. */
  readonly form?: AdmittedForm;
}

/** Form of an object that a subresource reads and writes, such as a Scale. */
export interface AdmittedForm {
  read(object: Readonly<ApiObject>): ApiObject;
  /** Writes a form that admission may have changed into the object. */
  write(object: ApiObject, form: Readonly<ApiObject>): void;
}

/**
 * Replaces an object with the result of `change`. Waits only for admission; if another write has changed the object meanwhile, the update
 * starts again, and one that names the old resourceVersion is refused then.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/registry/generic/registry/store.go `Update` and pkg/registry/rest/update.go `BeforeUpdate`.
 *
 * @param change - receives the stored object, which it must not modify; returns a new, decoded one
 * @returns the updated object; if nothing has changed, nothing is stored
 * @throws ApiStatusError 400, 404, 409 or 422
 */
export function* updateObject(
  context: RestContext,
  address: ObjectAddress,
  change: (object: Readonly<ApiObject>) => ApiObject,
  options: UpdateOptions = {},
): Steps<StoredObject> {
  const plugins = pluginsFor(context, address, options);
  for (;;) {
    const stored = storedOf(context, address, options);
    const object = change(stored.object);
    yield* admitUpdate(context, { address, object, stored, plugins, options });
    const converting = prepareWrite(address.kind, object);
    if (converting !== undefined) yield converting;
    if (collectionOf(context, address.kind).get(address.namespace, address.name) === stored)
      return store(context, address, { object, stored, options });
  }
}

function storedOf(context: RestContext, address: ObjectAddress, { uid }: UpdateOptions): StoredObject {
  const { kind, namespace, name } = address;
  const stored = collectionOf(context, kind).get(namespace, name);
  if (stored === undefined) throw notFound(kind, name);
  const { uid: actual } = stored.object.metadata;
  if (uid !== undefined && uid !== actual) throw uidConflictOnUpdate(kind, address, uid, actual);
  return stored;
}

/** Writes of the server itself that no client could send are not admitted. */
function pluginsFor(context: RestContext, address: ObjectAddress, options: UpdateOptions): readonly AdmissionPlugin[] {
  if (options.scope === "all" && options.subresource === undefined) return [];
  return context.admission.pluginsFor(admissionSubject("UPDATE", address, options));
}

/** An update in progress. */
interface Update {
  readonly address: ObjectAddress;
  readonly object: ApiObject;
  readonly stored: StoredObject;
  readonly plugins: readonly AdmissionPlugin[];
  readonly options: UpdateOptions;
}

/** Completes and checks the new object. Modifies it. */
function* admitUpdate(context: RestContext, { address, object, stored, plugins, options }: Update): Steps<void> {
  const { kind, namespace } = address;
  const old = stored.object;
  const admit = (stage: "mutate" | "validate"): Steps<void> => admitStage(stage, { address, object, stored, plugins, options });
  setNamespace(kind, object.metadata, namespace);
  checkName(object.metadata, address.name);
  if (options.scope !== "all" || options.subresource !== undefined) {
    if (kind.webhookConversion === undefined) trackFields(context, kind, { object, old, options });
    else yield* trackAfterConversion(context, kind, { object, old, options });
  }
  if (plugins.length > 0) {
    yield* admit("mutate");
    setNamespace(kind, object.metadata, namespace);
  }
  checkVersion(kind, object, stored);
  dropDuplicateOwners(object, "after admission", options.warn);
  keepMetadata(object, old, options.scope);
  keepScope(kind, object, old, options.scope);
  if (options.scope !== "all") kind.prepareForUpdate?.(object, old, context);
  // The stored object has no such lists, and an empty list is no change.
  dropEmptyLists(kind, object);
  shareUnchanged(object, old);
  if (options.scope !== "all") finishUpdate(kind, object, old, { scope: options.scope, warn: options.warn });
  if (plugins.length > 0) {
    using _held = options.dryRun === true || options.scope !== undefined ? undefined : kind.hold?.(object, context);
    yield* admit("validate");
  }
}

/** As on the real server, an object whose fields cannot be converted loses its managers. */
function* trackAfterConversion(context: RestContext, kind: Kind, write: Parameters<typeof trackFields>[2]): Steps<void> {
  try {
    yield* afterConversion(() => trackFields(context, kind, write));
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    delete write.object.metadata.managedFields;
  }
}

function* admitStage(stage: "mutate" | "validate", { address, object, stored, plugins, options }: Update): Steps<void> {
  const subject = admissionSubject("UPDATE", address, options);
  const { form } = options;
  if (form === undefined) return yield* admitThrough(plugins, stage, { ...subject, object, old: stored.object });
  const shown = form.read(object);
  yield* admitThrough(plugins, stage, { ...subject, object: shown, old: form.read(stored.object) });
  if (stage === "mutate") form.write(object, shown);
}

/** Stores the result of an update, unless nothing has changed. */
function store(
  context: RestContext,
  { kind }: ObjectAddress,
  { object, stored, options }: Pick<Update, "object" | "stored" | "options">,
): StoredObject {
  const collection = collectionOf(context, kind);
  if (equalJson(object, stored.object) || differsOnlyInTimes(object, stored.object)) {
    if (options.dryRun === true || isStoredAsRead(context, kind, object)) return stored;
    const { managedFields } = stored.object.metadata;
    return collection.put({ ...object, metadata: { ...object.metadata, ...(managedFields === undefined ? {} : { managedFields }) } });
  }
  if (isDeletedByUpdate(object, stored.object)) {
    if (options.dryRun !== true) collection.remove(stored);
    return new StoredObject(object, stored.resourceVersion);
  }
  return options.dryRun === true ? new StoredObject(asRead(afterWrite(object), kind), stored.resourceVersion) : collection.put(object);
}

/**
 * Whether a custom resource is stored in the form in which it is read. One that was stored before its definition has got new defaults or
 * another storage version is not; writing it without a change stores the new form.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/storage/etcd3/store.go, `GuaranteedUpdate`, which compares the new bytes with those in etcd.
 */
function isStoredAsRead({ storage }: RestContext, kind: Kind, { metadata: { namespace = "", name } }: ApiObject): boolean {
  if (kind.custom === undefined) return true;
  const stored = storage.collection(kind).get(namespace, name)?.object;
  if (stored === undefined) return true;
  return stored.apiVersion === apiVersionOf(storageFormOf(kind)) && (kind.completeStored?.(stored) ?? stored) === stored;
}

/** Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/fieldmanager/equality.go. */
function differsOnlyInTimes(object: ApiObject, old: Readonly<ApiObject>): boolean {
  const { managedFields = [], ...metadata } = object.metadata;
  const { managedFields: before = [], ...oldMetadata } = old.metadata;
  if (managedFields.length === 0 || managedFields.length !== before.length) return false;
  if (!managedFields.every((entry, index) => isSameEntry(entry, before[index]))) return false;
  return equalJson({ ...object, metadata }, { ...old, metadata: oldMetadata });
}

function isSameEntry(entry: object, other: object | undefined): boolean {
  if (entry === other) return true;
  const { time: _time, ...rest } = entry as { readonly time?: string };
  const { time: _other, ...otherRest } = (other ?? {}) as { readonly time?: string };
  return equalJson(rest, otherRest);
}

function isVersion(given: string | undefined): boolean {
  return given !== undefined && given !== "" && given !== "0";
}

/** Increments the generation if the spec has changed, and validates the result. */
function finishUpdate(
  kind: Kind,
  object: ApiObject,
  old: Readonly<ApiObject>,
  { scope, warn }: { readonly scope: "status" | undefined; readonly warn: WriteOptions["warn"] },
): void {
  if (kind.custom !== undefined) checkCustomType(kind, object, old.metadata.name);
  if (kind.hasGeneration === true) countSpecChange(object, old, scope);
  const errors = [
    ...metadataErrors(kind, object.metadata),
    // The real server validates this twice: generically, and in each kind's strategy.
    ...metadataUpdateErrors(object.metadata, old.metadata),
    ...metadataUpdateErrors(object.metadata, old.metadata),
    ...(kind.validate?.(object, old, warn, scope) ?? []),
  ];
  if (errors.length > 0) throw invalid({ kind: kind.kind, group: storageFormOf(kind).group }, object.metadata.name ?? "", errors);
  if (warn !== undefined && scope === undefined) for (const warning of kind.warnings?.(object, old) ?? []) warn(warning);
}

function countSpecChange(object: ApiObject, old: Readonly<ApiObject>, scope: "status" | undefined): void {
  const { generation = 0 } = old.metadata;
  if (scope === "status") object.metadata.generation = generation;
  else if (object["spec"] !== old["spec"]) object.metadata.generation = generation + 1;
}

/** Kinds whose updates must name a resourceVersion; source: `AllowUnconditionalUpdate` under pkg/registry of Kubernetes v1.36.3. */
const conditionalOnly: ReadonlySet<string> = new Set([
  "leases.coordination.k8s.io",
  "poddisruptionbudgets.policy",
  "runtimeclasses.node.k8s.io",
  "csidrivers.storage.k8s.io",
  "csinodes.storage.k8s.io",
  "volumeattachments.storage.k8s.io",
  "customresourcedefinitions.apiextensions.k8s.io",
]);

function checkVersion(kind: Kind, object: ApiObject, stored: StoredObject): void {
  const given = object.metadata.resourceVersion ?? "";
  const { name } = stored.object.metadata;
  if (!isVersion(given)) {
    if (kind.custom !== undefined || conditionalOnly.has(`${kind.plural}.${kind.group}`)) {
      const message = "Invalid value: 0: must be specified for an update";
      throw invalid({ group: kind.group, kind: kind.plural }, name, [
        { field: "metadata.resourceVersion", reason: "FieldValueInvalid", message },
      ]);
    }
  } else if (!/^\d+$/.test(given)) {
    throw plainFailure(`strconv.ParseUint: parsing ${JSON.stringify(given)}: invalid syntax`);
  } else if (Number(given) !== stored.resourceVersion) {
    throw modifiedConflict(kind, name);
  }
  object.metadata.resourceVersion = String(stored.resourceVersion);
}

/** Restores fields that are immutable after creation. */
function keepMetadata({ metadata }: ApiObject, { metadata: old }: Readonly<ApiObject>, scope: UpdateOptions["scope"]): void {
  if (scope !== "all") {
    if (old.generation === undefined) delete metadata.generation;
    else metadata.generation = old.generation;
  }
  metadata.uid ??= old.uid;
  metadata.creationTimestamp = old.creationTimestamp;
  if (old.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.deletionTimestamp;
  if (old.deletionGracePeriodSeconds !== undefined) metadata.deletionGracePeriodSeconds ??= old.deletionGracePeriodSeconds;
}

/** Restores the part that the request does not write: everything but the status, or the status. */
function keepScope(kind: Kind, object: ApiObject, old: Readonly<ApiObject>, scope: UpdateOptions["scope"]): void {
  if (scope === "all") return;
  if (scope === undefined) {
    if (kind.hasStatus === true) keepField(object, old, "status");
    return;
  }
  for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (field !== "metadata" && field !== "status") keepField(object, old, field);
  }
  keepStatusMetadata(kind, object.metadata, old.metadata);
}

/** Restores metadata that a status update must not change; source: the strategies under pkg/registry of Kubernetes v1.36.3. */
function keepStatusMetadata(kind: Kind, metadata: ApiObject["metadata"], old: Readonly<ApiObject>["metadata"]): void {
  if (kind.custom !== undefined) keepAllMetadata(metadata, old);
  if (kind.kind === "Pod" && kind.group === "") {
    if (old.deletionTimestamp === undefined) delete metadata.deletionTimestamp;
    if (old.ownerReferences === undefined) delete metadata.ownerReferences;
    else metadata.ownerReferences = old.ownerReferences;
  }
  if (kind.kind === "Deployment") {
    if (old.labels === undefined) delete metadata.labels;
    else metadata.labels = old.labels;
  }
}

/** Restores all metadata except what the update itself sets. */
function keepAllMetadata(metadata: ApiObject["metadata"], old: Readonly<ApiObject>["metadata"]): void {
  const { managedFields, resourceVersion } = metadata;
  for (const field of Object.keys(metadata)) delete metadata[field as keyof typeof metadata];
  Object.assign(metadata, old, { resourceVersion }, managedFields === undefined ? {} : { managedFields });
}

function keepField(object: ApiObject, old: Readonly<ApiObject>, field: string): void {
  if (old[field] === undefined) delete object[field];
  else object[field] = old[field];
}

/** Lets the new version share unchanged parts with the old one, so that a status update needs little memory. */
function shareUnchanged(object: ApiObject, old: Readonly<ApiObject>): void {
  for (const field of Object.keys(object)) {
    if (field !== "metadata" && object[field] !== old[field] && equalJson(object[field], old[field])) object[field] = old[field];
  }
}

/** Whether the update removed the last finalizer of a deleted object whose grace period is over. */
function isDeletedByUpdate(object: Readonly<ApiObject>, old: Readonly<ApiObject>): boolean {
  if ((object.metadata.finalizers?.length ?? 0) > 0 || old.metadata.deletionTimestamp === undefined) return false;
  if (object.kind === "Namespace" && object.apiVersion === "v1" && (object["spec"]?.finalizers?.length ?? 0) > 0) return false;
  return (old.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}
