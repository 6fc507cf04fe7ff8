import { apiVersionOf } from "../kinds/api-version.ts";
import { readFileSync } from "node:fs";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { ApiMetadata, ApiObject } from "../kinds/kind.ts";
import type { PolicyRule } from "../kinds/rbac/rbac-fields.ts";
import { once } from "../kinds/schema/once.ts";
import { collectionOf, type RestContext } from "../rest/rest-context.ts";

/** An object of `data/bootstrap-objects.json`: as stored, without what differs between servers. */
interface RecordedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Pick<ApiMetadata, "name" | "namespace" | "generation" | "labels" | "annotations">;
  readonly spec?: { readonly group?: string; readonly version?: string };
  readonly rules?: readonly PolicyRule[];
  readonly status?: { readonly conditions?: readonly object[] };
  /** Index of its managers. */
  readonly managers: number;
}

/** Content of `data/bootstrap-objects.json`. */
interface Recording {
  /** Values of `metadata.managedFields`, without times. */
  readonly managers: readonly (readonly object[])[];
  readonly objects: readonly RecordedObject[];
}

const recorded = once(
  (): Recording => JSON.parse(readFileSync(new URL("../../data/bootstrap-objects.json", import.meta.url), "utf8")) as Recording,
);

/** Rules of the cluster role `system:node`, which the node authorizer restricts to single objects. */
export function nodeRules(): readonly PolicyRule[] {
  return recorded().objects.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "system:node")?.rules ?? [];
}

/** Groups of reviews, which have no stored objects. */
const reviewGroups: ReadonlySet<string> = new Set(["authentication.k8s.io", "authorization.k8s.io"]);

/**
 * Stores what kube-apiserver creates by itself: default roles and bindings, flow schemas, priority levels, and the API services of the
 * versions that are served. They are stored as they were recorded, because validating each of them would slow down the start.
 */
export function storeBootstrapObjects(context: RestContext): void {
  const kinds = new Map(context.kinds.map((kind) => [`${apiVersionOf(kind)}/${kind.kind}`, kind]));
  const versions = new Set(context.kinds.map(apiVersionOf));
  const now = rfc3339(context.clock.now());
  const { managers, objects } = recorded();
  // Objects share their managers, as versions of one object do.
  const managedFields = managers.map((entries) => entries.map((entry) => ({ ...entry, time: now })));
  for (const object of objects) {
    const kind = kinds.get(`${object.apiVersion}/${object.kind}`);
    if (kind === undefined || (object.kind === "APIService" && !isServed(object, versions))) continue;
    collectionOf(context, kind).put(
      newObject(object, { uid: context.random.uuid(), now, managedFields: managedFields[object.managers] ?? [] }),
    );
  }
}

function isServed({ spec: { group = "", version = "" } = {} }: RecordedObject, versions: ReadonlySet<string>): boolean {
  return reviewGroups.has(group) || versions.has(apiVersionOf({ group, version }));
}

function newObject(
  { kind, apiVersion, metadata, status, managers: _managers, ...fields }: RecordedObject,
  { uid, now, managedFields }: { readonly uid: string; readonly now: string; readonly managedFields: object[] },
): ApiObject {
  const { name, namespace, generation, ...rest } = metadata;
  return {
    kind,
    apiVersion,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      resourceVersion: "",
      ...(generation === undefined ? {} : { generation }),
      creationTimestamp: now,
      ...rest,
      managedFields,
    },
    ...fields,
    ...(status === undefined ? {} : { status: withTimes(status, now) }),
  };
}

function withTimes({ conditions, ...status }: NonNullable<RecordedObject["status"]>, now: string): object {
  return conditions === undefined ? status : { ...status, conditions: conditions.map((each) => ({ ...each, lastTransitionTime: now })) };
}
