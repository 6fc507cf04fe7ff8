import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { admitThrough } from "../admission/admission-plugin.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import { conflict, forbidden, invalid, notFound, uidConflict } from "../errors/api-status-error.ts";
import { equalJson } from "../json/json-value.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { StoredObject } from "../storage/storage.ts";
import { admissionSubject, collectionOf, type ObjectAddress, type RestContext, type WriteOptions } from "./rest-context.ts";
import type { Steps } from "./steps.ts";

/** Kubernetes' `DeleteOptions`. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground" | undefined;
  readonly dryRun?: boolean | undefined;
  /** User for admission; default: the server's own controllers. */
  readonly user?: UserInfo | undefined;
  /** Name that admission sees; default: the object's. `""` for the deletion of a collection. */
  readonly requestName?: string | undefined;
  /** Options as the client sent them, for admission. */
  readonly requestOptions?: (() => Readonly<Record<string, unknown>>) | undefined;
  /** Adds a warning for the client. */
  readonly warn?: ((message: string) => void) | undefined;
}

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

/** Result of a deletion. */
export interface Deletion {
  /** State after the deletion; the last state of an object that is gone. */
  readonly stored: StoredObject;
  /** Whether the object is gone. */
  readonly isGone: boolean;
}

/** Next state of the object. */
type Plan =
  | { readonly kind: "remove" }
  | { readonly kind: "keep" }
  | { readonly kind: "mark"; readonly metadata: ApiObject["metadata"]; readonly thenRemove: boolean };

/** Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/namespace/lifecycle/admission.go. */
const immortalNamespaces: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

/**
 * Deletes an object, or marks it as deleted if it has a grace period or finalizers. Waits only for admission.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/registry/generic/registry/store.go `Delete` and pkg/registry/rest/delete.go `BeforeDelete`; for
 * namespaces pkg/registry/core/namespace/storage/storage.go of Kubernetes v1.36.3.
 *
 * @throws ApiStatusError 403, 404, 409 or 422
 */
export function* deleteObject(context: RestContext, address: ObjectAddress, options: DeleteOptions = {}): Steps<Deletion> {
  const { kind, namespace, name } = address;
  const { requestName = name } = options;
  const subject = admissionSubject("DELETE", { kind, namespace, name: requestName }, writeOptionsOf(options));
  const plugins = context.admission.pluginsFor(subject);
  const old = plugins.length === 0 ? undefined : collectionOf(context, kind).get(namespace, name)?.object;
  if (old !== undefined) {
    const request = { ...subject, object: undefined, old };
    yield* admitThrough(plugins, "mutate", request);
    yield* admitThrough(plugins, "validate", request);
  }
  return deleteAdmitted(context, address, options);
}

function writeOptionsOf({ user, dryRun = false, requestOptions, warn }: DeleteOptions): WriteOptions {
  return {
    dryRun,
    ...(user === undefined ? {} : { user }),
    ...(requestOptions === undefined ? {} : { requestOptions }),
    ...(warn === undefined ? {} : { warn }),
  };
}

/** Deletes an object like {@link deleteObject}, but without admission. */
export function deleteAdmitted(context: RestContext, { kind, namespace, name }: ObjectAddress, options: DeleteOptions): Deletion {
  const collection = collectionOf(context, kind);
  const stored = collection.get(namespace, name);
  if (stored === undefined) throw notFound(kind, name);
  const isNamespace = kind.group === "" && kind.plural === "namespaces";
  if (isNamespace && immortalNamespaces.has(name)) throw forbidden(kind, name, "this namespace may not be deleted");
  checkOptions(options);
  checkPreconditions(kind, stored, options);
  const now = context.clock.now();
  const mark = (object: ApiObject): StoredObject =>
    options.dryRun === true ? new StoredObject(object, stored.resourceVersion) : collection.put(object);
  if (kind.beginDeletion !== undefined && stored.object.metadata.deletionTimestamp === undefined)
    return { stored: mark(kind.beginDeletion(stored.object, now)), isGone: false };
  const plan = isNamespace ? planNamespace(stored, options, now) : planDeletion(kind, stored, options, now);
  if (plan.kind === "keep") return { stored, isGone: false };
  let current = stored;
  if (plan.kind === "mark") {
    current = mark({
      ...stored.object,
      ...(isNamespace ? { status: { ...stored.object["status"], phase: "Terminating" } } : {}),
      metadata: plan.metadata,
    });
    if (!plan.thenRemove) return { stored: current, isGone: false };
  }
  return { stored: options.dryRun === true ? current : collection.remove(current), isGone: true };
}

function checkOptions({ propagationPolicy }: DeleteOptions): void {
  if (propagationPolicy === undefined || ["Orphan", "Background", "Foreground"].includes(propagationPolicy)) return;
  const message = `Unsupported value: ${JSON.stringify(propagationPolicy)}: supported values: "Foreground", "Background", "Orphan", "nil"`;
  throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [
    { field: "propagationPolicy", reason: "FieldValueNotSupported", message },
  ]);
}

function checkPreconditions(kind: Kind, { object }: StoredObject, { uid, resourceVersion }: DeleteOptions): void {
  const { name, uid: actualUid, resourceVersion: actualVersion } = object.metadata;
  // Other conflicts name the resource, but the real server names the kind in most of these.
  const subject = { group: kind.group, plural: kind.kind };
  const isOwnCheck = kind.beginDeletion !== undefined || (kind.kind === "Namespace" && kind.group === "");
  if (uid !== undefined && uid !== actualUid) {
    if (isOwnCheck) throw uidConflict(kind, name, uid, actualUid);
    throw conflict(
      subject,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${actualUid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== actualVersion) {
    if (isOwnCheck) {
      const problem = `ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${actualVersion}`;
      throw conflict(kind, name, `Precondition failed: ${problem}`);
    }
    throw conflict(
      subject,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${actualVersion}). The object might have been modified`,
    );
  }
}

/** A namespace is first marked, then emptied. It can be removed once its `spec.finalizers` is empty. */
function planNamespace({ object }: StoredObject, options: DeleteOptions, now: number): Plan {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined) {
    return { kind: "mark", metadata: { ...withFinalizers(metadata, options), deletionTimestamp: rfc3339(now) }, thenRemove: false };
  }
  const isHeld = (object["spec"]?.finalizers?.length ?? 0) > 0 || (metadata.finalizers?.length ?? 0) > 0;
  return isHeld ? { kind: "keep" } : { kind: "remove" };
}

function planDeletion(kind: Kind, { object }: StoredObject, options: DeleteOptions, now: number): Plan {
  const grace = planGrace(kind, object, options, now);
  if (grace === "pending") return { kind: "keep" };
  const metadata = withFinalizers(grace === "none" ? object.metadata : grace, { propagationPolicy: policyOf(kind, object, options) });
  const isHeld = (metadata.finalizers?.length ?? 0) > 0;
  if (grace !== "none") return { kind: "mark", metadata, thenRemove: !isHeld && metadata.deletionGracePeriodSeconds === 0 };
  if (!isHeld) return { kind: "remove" };
  const marked = markedNow(metadata, now);
  return equalJson(marked, object.metadata) ? { kind: "keep" } : { kind: "mark", metadata: marked, thenRemove: false };
}

/** Metadata of a graceful deletion; `pending` if one is already in progress, `none` if the deletion is immediate. */
function planGrace(kind: Kind, object: ApiObject, options: DeleteOptions, now: number): ApiObject["metadata"] | "pending" | "none" {
  if (kind.gracePeriodSeconds === undefined) return "none";
  const { metadata } = object;
  const asked = options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0 ? 1 : options.gracePeriodSeconds;
  if (metadata.deletionTimestamp !== undefined) return shortenGrace(metadata, asked, now);
  const seconds = mayTakeTime(object) ? Math.trunc(asked ?? kind.gracePeriodSeconds(object)) : 0;
  const grace = seconds < 0 ? 1 : seconds;
  return {
    ...metadata,
    ...(metadata.generation === undefined ? {} : { generation: metadata.generation + 1 }),
    deletionTimestamp: rfc3339(now + grace * 1000),
    deletionGracePeriodSeconds: grace,
  };
}

/** Whether the pod may still have running containers. Source: pkg/registry/core/pod/strategy.go `CheckGracefulDelete`. */
function mayTakeTime(object: ApiObject): boolean {
  const phase: unknown = object["status"]?.phase;
  return Boolean(object["spec"]?.nodeName) && phase !== "Failed" && phase !== "Succeeded";
}

/** The grace period of a deletion in progress can only be shortened. */
function shortenGrace(metadata: ApiObject["metadata"], asked: number | undefined, now: number): ApiObject["metadata"] | "pending" | "none" {
  const { deletionGracePeriodSeconds: current = 0, deletionTimestamp = "" } = metadata;
  if (current === 0) return "none";
  if (asked === undefined || asked >= current) return "pending";
  const due = Date.parse(deletionTimestamp) + (asked - current) * 1000;
  if (due >= now) return { ...metadata, deletionTimestamp: rfc3339(due), deletionGracePeriodSeconds: asked };
  // A grace period that has already passed becomes one second, because the kubelet still has to observe and finish the deletion.
  return { ...metadata, deletionTimestamp: rfc3339(now), deletionGracePeriodSeconds: asked === 0 ? 0 : 1 };
}

function markedNow(metadata: ApiObject["metadata"], now: number): ApiObject["metadata"] {
  const isFirst = metadata.deletionTimestamp === undefined;
  const isLater = isFirst || Date.parse(metadata.deletionTimestamp ?? "") > now;
  return {
    ...metadata,
    ...(isFirst && metadata.generation !== undefined ? { generation: metadata.generation + 1 } : {}),
    ...(isLater ? { deletionTimestamp: rfc3339(now) } : {}),
    deletionGracePeriodSeconds: 0,
  };
}

/** Source: k8s.io/apiserver v0.36.3 pkg/registry/generic/registry/store.go, `shouldOrphanDependents`. */
function policyOf(
  { orphansByDefault }: Kind,
  { metadata }: ApiObject,
  { propagationPolicy }: DeleteOptions,
): DeleteOptions["propagationPolicy"] {
  if (propagationPolicy !== undefined || orphansByDefault === undefined) return propagationPolicy;
  return metadata.finalizers?.some((finalizer) => finalizer === orphanFinalizer || finalizer === foregroundFinalizer)
    ? undefined
    : "Orphan";
}

/** Finalizers tell the garbage collector what to do with dependents. */
function withFinalizers(metadata: ApiObject["metadata"], { propagationPolicy }: DeleteOptions): ApiObject["metadata"] {
  if (propagationPolicy === undefined) return metadata;
  const { finalizers = [], ...rest } = metadata;
  const others = finalizers.filter((finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  const added = propagationPolicy === "Orphan" ? [orphanFinalizer] : propagationPolicy === "Foreground" ? [foregroundFinalizer] : [];
  return others.length + added.length === 0 ? rest : { ...rest, finalizers: [...others, ...added] };
}
