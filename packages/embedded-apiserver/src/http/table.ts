import type { ApiMetadata, ApiObject, Column, Kind } from "../kinds/kind.ts";
import { nameColumn } from "../kinds/columns/columns.ts";

/** `meta.k8s.io/v1` Table, which `kubectl get` prints. */
export type Table = {
  readonly kind: "Table";
  readonly apiVersion: MetaApiVersion;
  readonly metadata: TableMetadata;
  /** `null` with {@link TableOptions.noHeaders}. */
  readonly columnDefinitions: readonly TableColumn[] | null;
  readonly rows: readonly TableRow[];
};

type MetaApiVersion = "meta.k8s.io/v1" | "meta.k8s.io/v1beta1";

/** Metadata of the list, or of the single object. */
export interface TableMetadata {
  readonly resourceVersion?: string | undefined;
  readonly continue?: string | undefined;
  readonly remainingItemCount?: number | undefined;
}

interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0, or more for columns of `-o wide`. */
  readonly priority: number;
}

/** Row of a table; {@link TableOptions.includeObject} determines `object`. */
interface TableRow {
  readonly cells: readonly (string | number | bigint | boolean | null)[];
  readonly object: ApiObject | PartialObjectMetadata | null;
}

interface PartialObjectMetadata {
  readonly kind: "PartialObjectMetadata";
  readonly apiVersion: MetaApiVersion;
  readonly metadata: ApiMetadata;
}

/** Options of {@link toTable}. */
export interface TableOptions {
  /** Time from which ages are computed, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Part of the objects that the rows contain; default: `Metadata`. */
  readonly includeObject?: "None" | "Metadata" | "Object";
  /** Omits the column definitions, as in all but the first event of a watch; default: false. */
  readonly noHeaders?: boolean;
  /** Version of the table; default: v1. */
  readonly metaVersion?: "v1" | "v1beta1";
}

/**
 * Builds a table of objects of one kind.
 *
 * @param metadata - metadata of the list; fields other than `resourceVersion` and the like are dropped
 */
export function toTable(kind: Kind, objects: readonly Readonly<ApiObject>[], metadata: TableMetadata, options: TableOptions): Table {
  const columns = kind.columns ?? defaultColumns;
  const apiVersion: MetaApiVersion = `meta.k8s.io/${options.metaVersion ?? "v1"}`;
  return {
    kind: "Table",
    apiVersion,
    metadata: {
      ...(metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
      ...(metadata.continue === undefined ? {} : { continue: metadata.continue }),
      ...(metadata.remainingItemCount === undefined ? {} : { remainingItemCount: metadata.remainingItemCount }),
    },
    columnDefinitions: options.noHeaders ? null : columns.map(toColumn),
    rows: (kind.compareRows === undefined ? objects : objects.toSorted(kind.compareRows)).map((object) => ({
      cells: columns.map((column) => column.cell(object, options.nowMs)),
      object: rowObject(object, options.includeObject ?? "Metadata", apiVersion),
    })),
  };
}

function toColumn({ name, type, description, wide, priority = wide ? 1 : 0, format = name === "Name" ? "name" : "" }: Column): TableColumn {
  return { name, type, format, description, priority };
}

function rowObject(object: ApiObject, includeObject: "None" | "Metadata" | "Object", apiVersion: MetaApiVersion): TableRow["object"] {
  switch (includeObject) {
    case "None":
      return null;
    case "Metadata":
      return { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata };
    case "Object":
      return object;
  }
}

/** Source: k8s.io/apiserver v0.36.3 pkg/registry/rest/table.go. */
const defaultColumns: readonly Column[] = [
  nameColumn,
  {
    name: "Created At",
    type: "date",
    description:
      "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    cell: (object) => object.metadata.creationTimestamp,
  },
];
