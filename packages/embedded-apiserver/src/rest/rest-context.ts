import type { Clock, Random } from "@virtual-kubelet/clock";
import type { Cluster } from "./cluster.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { KindTable } from "../kinds/kind-table.ts";
import { viewInVersion } from "../custom-resources/version-view.ts";
import type { ObjectCollection, Storage } from "../storage/storage.ts";

/** What the verbs work with. */
export interface RestContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly storage: Storage;
  /** All kinds the server knows; custom resources come and go. */
  readonly kinds: readonly Kind[];
  /** The table that `kinds` is of. */
  readonly kindTable: KindTable;
  /** The same objects, for the hooks of a kind. */
  readonly cluster: Cluster;
}

/** What an unknown field of a request's object leads to; source: Kubernetes' `fieldValidation` parameter. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** Options every write takes. */
export interface WriteOptions {
  /** Everything but the storing. */
  readonly dryRun?: boolean;
  /** Default: `Warn`. */
  readonly fieldValidation?: FieldValidation;
  /** Looks at what is about to be stored, which it may refuse or change. @throws ApiStatusError */
  readonly admit?: (object: ApiObject, old: Readonly<ApiObject> | undefined) => void;
  /** Told what the caller should be warned of. */
  readonly warn?: (message: string) => void;
}

/** Names an object of a kind; `namespace` is `""` where the kind has none. */
export interface ObjectAddress {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/** The stored objects of the kind. */
export function collectionOf(context: RestContext, kind: Kind): ObjectCollection {
  const collection = context.storage.collection(kind);
  return kind.storageVersion === undefined ? collection : viewInVersion(collection, kind);
}

/** The kind of that group and plural name, in any version; `undefined` if there is none. */
export function findKind(context: RestContext, group: string, plural: string): Kind | undefined {
  return context.kinds.find((kind) => kind.group === group && kind.plural === plural);
}

/** `v1`, or `apps/v1`. */
export function apiVersionOf(kind: Kind): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}
