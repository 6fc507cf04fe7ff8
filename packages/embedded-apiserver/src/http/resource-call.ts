import type { Clock, Random } from "@virtual-kubelet/clock";
import type { RequestAdmission } from "../admission/request-admission.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { Kubelets } from "../kubelet-proxy/kubelet-client.ts";
import type { ObjectAddress, RestContext } from "../rest/rest-context.ts";
import type { ServiceAccountTokens } from "../authentication/service-account-token.ts";
import type { StoredObject } from "../storage/storage.ts";
import { toTable, type Table, type TableMetadata } from "./table.ts";
import type { WatchStream } from "../storage/watch.ts";
import type { ApiRequest, ApiResponse } from "./api-request.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { OutputForm } from "./negotiation.ts";
import type { ResourceTarget } from "./request-target.ts";
import { json, jsonBytes, partialMetadata } from "./respond.ts";

/** Dependencies of the HTTP verbs. */
export interface ResourceContext {
  readonly rest: RestContext;
  readonly clock: Clock;
  readonly random: Random;
  readonly tokens: ServiceAccountTokens;
  readonly authorizer: Authorizer;
  readonly kubelets: Kubelets;
  /** Open watches. */
  readonly watches: Set<WatchStream>;
  /** Maximum number of changes that wait for a slow reader of a watch. */
  readonly watchBufferLimit: number;
}

/** A parsed request for a resource. */
export interface ResourceCall {
  readonly request: ApiRequest;
  readonly query: URLSearchParams;
  readonly target: ResourceTarget;
  readonly kind: Kind;
  readonly form: OutputForm;
  readonly user: UserInfo;
  /** Admission for this request's user. */
  readonly admission: RequestAdmission;
  /** Collects warnings for the client. */
  readonly warnings: string[];
}

/** Object that the call names. */
export function addressOf({ kind, target }: ResourceCall): ObjectAddress {
  return { kind, namespace: target.namespace ?? "", name: target.name ?? "" };
}

/** Response with an object in the requested form. */
export function objectResponse(context: ResourceContext, call: ResourceCall, status: number, stored: StoredObject): ApiResponse {
  switch (call.form) {
    case "object":
      return jsonBytes(status, stored.json);
    case "metadata":
      return json(status, partialMetadata(stored.object));
    case "table":
      return json(
        status,
        tableOf(context, call, { objects: [stored.object], metadata: { resourceVersion: stored.object.metadata.resourceVersion } }),
      );
    default:
      return call.form satisfies never;
  }
}

/** Table of objects with the query's options. @param options - `noHeaders` omits the column definitions */
export function tableOf(context: ResourceContext, { kind, query }: ResourceCall, { objects, metadata, noHeaders }: TableContent): Table {
  const asked = query.get("includeObject");
  const includeObject = asked === "None" || asked === "Object" ? asked : "Metadata";
  return toTable(kind, objects, metadata, { nowMs: context.clock.now(), includeObject, noHeaders: noHeaders ?? false });
}

/** Content of a table. */
export interface TableContent {
  readonly objects: readonly Readonly<ApiObject>[];
  readonly metadata: TableMetadata;
  readonly noHeaders?: boolean;
}
