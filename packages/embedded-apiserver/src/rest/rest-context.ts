import type { Clock, Random } from "@virtual-kubelet/clock";
import type { Cluster } from "./cluster.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { KindTable } from "../kinds/kind-table.ts";
import { viewInVersion } from "../custom-resources/version-view.ts";
import type { ObjectCollection, Storage } from "../storage/storage.ts";

/** Dependencies of the verbs. */
export interface RestContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly storage: Storage;
  /** Served kinds. Kinds of custom resources come and go. */
  readonly kinds: readonly Kind[];
  /** Table that `kinds` belongs to. */
  readonly kindTable: KindTable;
  /** The same objects, for the hooks of kinds. */
  readonly cluster: Cluster;
}

/** Handling of unknown fields; source: Kubernetes' query parameter `fieldValidation`. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** Options of every write. */
export interface WriteOptions {
  /** Does everything except storing. */
  readonly dryRun?: boolean;
  /** Default: `Warn`. */
  readonly fieldValidation?: FieldValidation;
  /** Checks the object before it is stored, and may modify it. @throws ApiStatusError */
  readonly admit?: (object: ApiObject, old: Readonly<ApiObject> | undefined) => void;
  /** Called with warnings for the client. */
  readonly warn?: (message: string) => void;
}

/** Identifies an object; `namespace` is `""` for cluster-scoped kinds. */
export interface ObjectAddress {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/** Stored objects of the kind. */
export function collectionOf(context: RestContext, kind: Kind): ObjectCollection {
  const collection = context.storage.collection(kind);
  return kind.storageVersion === undefined ? collection : viewInVersion(collection, kind);
}

/** Kind by group and plural name, in any version; `undefined` if there is none. */
export function findKind(context: RestContext, group: string, plural: string): Kind | undefined {
  return context.kinds.find((kind) => kind.group === group && kind.plural === plural);
}

/** Such as `v1` or `apps/v1`. */
export function apiVersionOf(kind: Kind): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}
