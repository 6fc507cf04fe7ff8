import type { Clock, Random } from "@virtual-kubelet/clock";
import type { JsonValue } from "../json/json-value.ts";
import type { Decoded } from "./schema/decode.ts";
import type { OpenApiSchema } from "./schema/schema.ts";

/** A Kubernetes object as JSON; its fields are narrowed where they are used. */
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
}

/** One thing wrong with an object, as the API server words it in a 422. */
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
    | "FieldValueTypeInvalid";
  /** Such as `Required value: must be specified`. */
  readonly message: string;
}

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "date" | "boolean";
  readonly description: string;
  /** What the type says no more of, such as `int32`; default: none, `name` for a column of that name. */
  readonly format?: string;
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
  /** The cell; ages are reckoned from `nowMs`, milliseconds since the epoch. */
  cell(object: ApiObject, nowMs: number): string | number | boolean | null;
}

/** What a write may look at besides the object itself. */
export interface WriteContext {
  readonly clock: Clock;
  /** Name suffixes and addresses come from it. */
  readonly random: Random;
  readonly cluster: ObjectReader;
}

/** The objects there are. What is returned is shared and must not be changed. */
export interface ObjectReader {
  /** The object of that name, if there is one. */
  get(kind: Kind, namespace: string | undefined, name: string): Readonly<ApiObject> | undefined;
  /** All objects of the kind, in one namespace or in all. */
  list(kind: Kind, namespace?: string): Readonly<ApiObject>[];
}

/** All the server knows of one kind: where it is found, what makes an object valid, how it is shown. */
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
   * Its definition in the OpenAPI document, such as `io.k8s.api.core.v1.Pod`. Every write is read through `decode` of
   * kinds/schema/decode.ts with it first; the functions below rely on the types that gives.
   */
  readonly schema: string;
  /** What is wrong with a name, worded as the API server does; absent: a DNS subdomain (RFC 1123). */
  readonly nameProblems?: (name: string) => string[];
  /** Whether `metadata.generation` counts the changes of `spec`. */
  readonly hasGeneration?: boolean;
  /** Whether there is a `status` subresource; then writes to the object leave its status, and writes to the status all else. */
  readonly hasStatus?: boolean;
  /** Whether there is a `scale` subresource. */
  readonly hasScale?: boolean;
  /** Seconds of grace a deletion gives if the caller does not say; absent where objects go at once. */
  readonly gracePeriodSeconds?: (object: ApiObject) => number;
  /**
   * For the kinds whose dependents stay, without it, when the caller of a deletion does not say what is to become of
   * them: what the caller is told then, if anything.
   */
  readonly orphansByDefault?: { readonly warning?: string };
  /** Fills what the caller left out; works on a fresh object, at every write, before anything else looks at it. */
  readonly applyDefaults?: (object: ApiObject) => void;
  /**
   * What is wrong with it. `old` is there for an update, of the object or of its status: what a subresource may not
   * change is already as it was. Metadata is checked for every kind elsewhere.
   */
  readonly validate?: (object: ApiObject, old: ApiObject | undefined) => FieldError[];
  /**
   * Extra work on creation, after defaults and before validation: initial status, allocated addresses, what admission
   * adds. @throws ApiStatusError if admission refuses
   */
  readonly prepareForCreate?: (object: ApiObject, context: WriteContext) => void;
  /** Extra work on an update of the object or its status, after defaults and before validation: what the server keeps. */
  readonly prepareForUpdate?: (object: ApiObject, old: Readonly<ApiObject>, context: WriteContext) => void;
  /** What becomes of an object first when its deletion begins, at a time in milliseconds since the epoch; works on a copy. */
  readonly prepareForDelete?: (object: Readonly<ApiObject>, nowMs: number) => ApiObject;
  /** Field selectors besides `metadata.name` and `metadata.namespace`. */
  readonly fieldSelectors?: Readonly<Record<string, (object: ApiObject) => string>>;
  readonly columns?: readonly Column[];
  /** For custom resources, which have no definition of their own in the OpenAPI document. */
  readonly custom?: CustomKind;
  /** The version its objects are stored in, where that may be another one. */
  readonly storageVersion?: string;
}

/** What is particular to a kind of custom resources. */
export interface CustomKind {
  /** The name of its lists, such as `FooList`. */
  readonly listKind: string;
  /** Reads an object: prunes what the schema does not have, and fills in defaults. */
  readonly decode: (body: Readonly<Record<string, JsonValue>>) => Decoded;
  /** The schema as OpenAPI v3 documents show it. */
  readonly openApi: OpenApiSchema;
  /** Where the `scale` sub-resource finds its fields, such as `.spec.replicas`. */
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string; readonly labelSelectorPath?: string };
}
