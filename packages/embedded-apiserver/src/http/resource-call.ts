import type { Clock, Random } from "@virtual-kubelet/clock";
import type { RequestAdmission } from "../admission/request-admission.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { Kubelets } from "../kubelet-proxy/kubelet-client.ts";
import type { ObjectAddress, RestContext } from "../rest/rest-context.ts";
import type { ServiceAccountTokens } from "../service-account-token.ts";
import type { StoredObject } from "../storage/storage.ts";
import { toTable, type Table, type TableMetadata } from "./table.ts";
import type { WatchStream } from "../storage/watch.ts";
import type { ApiRequest, ApiResponse, UserInfo } from "./api-request.ts";
import type { OutputForm } from "./negotiation.ts";
import type { ResourceTarget } from "./request-target.ts";
import { json, jsonBytes, partialMetadata } from "./respond.ts";

/** What the verbs over HTTP work with. */
export interface ResourceContext {
  readonly rest: RestContext;
  readonly clock: Clock;
  readonly random: Random;
  readonly tokens: ServiceAccountTokens;
  readonly authorizer: Authorizer;
  /** The way to the nodes. */
  readonly kubelets: Kubelets;
  /** The open watches. */
  readonly watches: Set<WatchStream>;
  /** Changes that may wait for a slow reader of a watch. */
  readonly watchBufferLimit: number;
}

/** One request for a resource, taken apart. */
export interface ResourceCall {
  readonly request: ApiRequest;
  readonly query: URLSearchParams;
  readonly target: ResourceTarget;
  readonly kind: Kind;
  readonly form: OutputForm;
  readonly user: UserInfo;
  /** Refuses what this caller may not do to this object. */
  readonly admission: RequestAdmission;
  /** Collects what the caller is to be warned of. */
  readonly warnings: string[];
}

/** The object the call is about. */
export function addressOf({ kind, target }: ResourceCall): ObjectAddress {
  return { kind, namespace: target.namespace ?? "", name: target.name ?? "" };
}

/** Answers with an object in the form the caller wants. */
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

/** A table of objects, as the query wants it. @param options - `noHeaders` leaves out the columns */
export function tableOf(context: ResourceContext, { kind, query }: ResourceCall, { objects, metadata, noHeaders }: TableContent): Table {
  const asked = query.get("includeObject");
  const includeObject = asked === "None" || asked === "Object" ? asked : "Metadata";
  return toTable(kind, objects, metadata, { nowMs: context.clock.now(), includeObject, noHeaders: noHeaders ?? false });
}

/** What a table shows. */
export interface TableContent {
  readonly objects: readonly Readonly<ApiObject>[];
  readonly metadata: TableMetadata;
  readonly noHeaders?: boolean;
}
