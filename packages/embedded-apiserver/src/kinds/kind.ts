import type { Clock, Random } from "@virtual-kubelet/clock";
import type { JsonValue } from "../json/json-value.ts";
import type { Decoded } from "./schema/decode.ts";
import type { OpenApiSchema } from "./schema/schema.ts";

/** A Kubernetes object as JSON. Its fields are typed where they are used. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: ApiMetadata;
  // oxlint-disable-next-line typescript/no-explicit-any -- stored objects of every kind share this type
  [field: string]: any;
}

/** Metadata of a stored object. */
export interface ApiMetadata {
  name: string;
  generateName?: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean; blockOwnerDeletion?: boolean }[];
  /** Entries as in Kubernetes. They are shared and must not be modified. */
  managedFields?: object[];
}

/** A validation error, worded as in the API server's 422. */
export interface FieldError {
  /** Such as `spec.containers[0].name`. */
  readonly field: string;
  readonly reason:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueNotSupported"
    | "FieldValueForbidden"
    | "FieldValueDuplicate"
    | "FieldValueNotFound"
    | "FieldValueTooLong"
    | "FieldValueTooMany"
    | "FieldValueTypeInvalid"
    | "InternalError";
  /** Such as `Required value: must be specified`. */
  readonly message: string;
}

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "date" | "boolean";
  readonly description: string;
  /** Format beyond the type, such as `int32`; default: `name` for the column of that name, otherwise none. */
  readonly format?: string;
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
  /** Priority in tables; columns above 0 are shown only with `-o wide`. Default: 1 if {@link wide}, otherwise 0. */
  readonly priority?: number;
  /** Content of the cell. Ages are relative to `nowMs`, milliseconds since the epoch. */
  cell(object: ApiObject, nowMs: number): string | number | bigint | boolean | null;
}

/** Context of the write hooks of a kind. */
export interface WriteContext {
  readonly clock: Clock;
  /** Source of name suffixes and addresses. */
  readonly random: Random;
  /** Whether pods are given a service account, which must exist. */
  readonly serviceAccounts: boolean;
  readonly cluster: ObjectReader;
  /** IPv4 range of cluster IPs in CIDR notation. */
  readonly serviceClusterIpRange: string;
}

/** Read access to stored objects. Returned objects are shared and must not be modified. */
export interface ObjectReader {
  /** The object of that name; `undefined` if there is none. */
  get(kind: Kind, namespace: string | undefined, name: string): Readonly<ApiObject> | undefined;
  /** Objects of the kind in one namespace, or in all. */
  list(kind: Kind, namespace?: string): Readonly<ApiObject>[];
}

/** Definition of a kind: its names, validation, defaulting and columns. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /**
   * Name of its OpenAPI definition, such as `io.k8s.api.core.v1.Pod`. Every write is first decoded with it by `decode` of
   * kinds/schema/decode.ts; the functions below rely on the resulting types.
   */
  readonly schema: string;
  /** Validates a name, with the API server's messages; default: DNS subdomain (RFC 1123). */
  readonly nameProblems?: (name: string) => string[];
  /** Whether `metadata.generation` is incremented when `spec` changes. */
  readonly hasGeneration?: boolean;
  /** Whether there is a `status` subresource. If so, other writes do not change the status, and it changes nothing else. */
  readonly hasStatus?: boolean;
  /** Whether there is a `scale` subresource. */
  readonly hasScale?: boolean;
  /** Default grace period of a deletion in seconds; absent if objects are deleted immediately. */
  readonly gracePeriodSeconds?: (object: ApiObject) => number;
  /** Warning of every request for a deprecated kind. */
  readonly deprecation?: string;
  /** Present for kinds whose dependents are orphaned by default, with the warning that such a deletion returns. */
  readonly orphansByDefault?: { readonly warning?: string };
  /** Applies defaults to a new object, before all other hooks. */
  readonly applyDefaults?: (object: ApiObject) => void;
  /**
   * Validates an object. `old` is set for updates of the object or its status; fields that the subresource must not change have already
   * been restored. Metadata is validated for every kind elsewhere. `warn` is called with warnings for the client. `scope` is set for updates of
   * the status.
   */
  readonly validate?: (object: ApiObject, old: ApiObject | undefined, warn?: (message: string) => void, scope?: "status") => FieldError[];
  /** Warnings for the client about a valid object that is created or, with `old`, updated; a write of the status has none. */
  readonly warnings?: (object: Readonly<ApiObject>, old: Readonly<ApiObject> | undefined) => readonly string[];
  /**
   * Prepares a new object after defaulting and before validation: initial status, allocated addresses, admission. @throws ApiStatusError if
   * admission refuses it
   */
  readonly prepareForCreate?: (object: ApiObject, context: WriteContext) => void;
  /** Prepares an update of the object or its status after defaulting and before validation: restores fields that the server owns. */
  readonly prepareForUpdate?: (object: ApiObject, old: Readonly<ApiObject>, context: WriteContext) => void;
  /** Keeps what was allocated for an object, such as its cluster IP, from others while the write waits for admission. */
  readonly hold?: (object: Readonly<ApiObject>, context: WriteContext) => Disposable;
  /**
   * The object as its first deletion stores it, at a time in milliseconds since the epoch; works on a copy. Of the request's options only the
   * preconditions count. Default: it is marked or removed as its finalizers, its grace period and the options say.
   */
  readonly beginDeletion?: (object: Readonly<ApiObject>, nowMs: number) => ApiObject;
  /** Field selectors besides `metadata.name` and `metadata.namespace`. */
  readonly fieldSelectors?: Readonly<Record<string, (object: ApiObject) => string>>;
  readonly columns?: readonly Column[];
  /** Order of the rows in tables of lists; default: that of the list. */
  readonly compareRows?: (a: Readonly<ApiObject>, b: Readonly<ApiObject>) => number;
  /** Present for custom resources, which have no definition in the OpenAPI document. */
  readonly custom?: CustomKind;
  /** Verbs of a kind that is computed instead of stored. */
  readonly verbs?: readonly string[];
  /** Version in which objects are stored, if they have several. */
  readonly storageVersion?: string;
  /** Group in which objects are stored, if it is another one. */
  readonly storageGroup?: string;
  /** Converts between this version and the stored one; default: they differ only in `apiVersion`. */
  readonly conversion?: VersionConversion;
  /**
   * Adds the defaults that a stored object does not have yet, and drops the fields that the schema does not have any more. The argument is
   * shared and must not be modified; it is returned if nothing changes. Absent for kinds whose schema has no defaults and did not change.
   */
  readonly completeStored?: (stored: Readonly<ApiObject>) => Readonly<ApiObject>;
  /** Converts objects of all versions by a webhook of the definition of a custom resource. */
  readonly webhookConversion?: WebhookConversion;
}

/** Converts objects to an `apiVersion`, in one call. The objects must not be modified. Rejects with ApiStatusError. */
export type WebhookConversion = (objects: readonly Readonly<ApiObject>[], apiVersion: string) => Promise<ApiObject[]>;

/** Converts objects of a kind between one of its versions and the stored version. The caller sets `apiVersion`. */
export interface VersionConversion {
  /** Object in the kind's version. The argument is shared and must not be modified. */
  readonly fromStorage: (stored: Readonly<ApiObject>) => ApiObject;
  /** Object in the stored version. The argument is complete: decoded, defaulted and validated. It must not be modified. */
  readonly toStorage: (object: Readonly<ApiObject>) => ApiObject;
}

/** Group and version in which a kind's objects are stored. */
export function storageFormOf({
  group,
  version,
  storageGroup = group,
  storageVersion = version,
}: Pick<Kind, "group" | "version" | "storageGroup" | "storageVersion">): Pick<Kind, "group" | "version"> {
  return { group: storageGroup, version: storageVersion };
}

/** Whether objects are stored in the kind's own version; false for the other versions, which are views of the same objects. */
export function isStorageKind(kind: Kind): boolean {
  const { group, version } = storageFormOf(kind);
  return group === kind.group && version === kind.version;
}

/** Part of a {@link Kind} that only custom resources have. */
export interface CustomKind {
  /** Kind of its lists, such as `FooList`. */
  readonly listKind: string;
  /**
   * Decodes an object: prunes unknown fields and applies defaults.
   *
   * @param keepsNulls - whether null stays in fields that are not nullable and have no default, so that validation refuses it; default: false
   */
  readonly decode: (body: Readonly<Record<string, JsonValue>>, keepsNulls?: boolean) => Decoded;
  /** Whether the definition is being deleted, so that objects can no longer be created. */
  readonly isTerminating: () => boolean;
  /** The kind in the versions that its definition has but does not serve; managers may name them. */
  readonly unservedVersions: () => readonly Kind[];
  /** Schema for OpenAPI v3 documents. */
  readonly openApi: OpenApiSchema;
  /** Paths of the `scale` subresource's fields, such as `.spec.replicas`. */
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string; readonly labelSelectorPath?: string };
}
