import type { Clock, Random } from "@virtual-kubelet/clock";
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
import { encodeProtobuf } from "../kinds/schema/protobuf-encode.ts";
import { badRequest, notAcceptableForm } from "../errors/api-status-error.ts";
import { internalGroup } from "../rest/type-mismatch.ts";
import { protobufBytes } from "./encoded-response.ts";
import type { Output } from "./negotiation.ts";
import type { ResourceTarget } from "./request-target.ts";
import { json, objectBytes, partialMetadata } from "./respond.ts";

/** Dependencies of the HTTP verbs. */
export interface ResourceContext {
  readonly rest: RestContext;
  readonly clock: Clock;
  readonly random: Random;
  readonly tokens: ServiceAccountTokens;
  readonly authorizer: Authorizer;
  readonly kubelets: Kubelets;
  /** Whether the server runs controllers. */
  readonly hasControllers: boolean;
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
  readonly output: Output;
  readonly user: UserInfo;
  /** Collects warnings for the client. */
  readonly warnings: string[];
}

/** Object that the call names. */
export function addressOf({ kind, target }: ResourceCall): ObjectAddress {
  return { kind, namespace: target.namespace ?? "", name: target.name ?? "" };
}

/** Response with an object in the requested form. */
export function objectResponse(context: ResourceContext, call: ResourceCall, status: number, stored: StoredObject): ApiResponse {
  const { form, as, encoding, metaVersion } = call.output;
  switch (form) {
    case "object":
      return encoding === "protobuf" ? protobufBytes(status, encodeProtobuf(stored.object)) : objectBytes(status, stored.json);
    case "metadata":
      if (as !== "PartialObjectMetadata")
        throw notAcceptableForm(
          `you requested PartialObjectMetadataList, but the requested object is not a list (${goType(call.kind, "")})`,
        );
      return json(status, partialMetadata(stored.object, metaVersion));
    case "table":
      return json(
        status,
        tableOf(context, call, { objects: [stored.object], metadata: { resourceVersion: stored.object.metadata.resourceVersion } }),
      );
    default:
      return form satisfies never;
  }
}

/** Go type of the real server's objects or lists, such as `*core.PodList`. */
export function goType({ group, kind, custom }: Kind, suffix: "" | "List"): string {
  return custom === undefined ? `*${internalGroup(group)}.${kind}${suffix}` : `*unstructured.Unstructured${suffix}`;
}

/**
 * Table of objects with the query's options.
 *
 * @param content - `noHeaders` omits the column definitions
 * @throws ApiStatusError 400
 */
export function tableOf(context: ResourceContext, { kind, query, output }: ResourceCall, content: TableContent): Table {
  const { objects, metadata, noHeaders } = content;
  const asked = query.get("includeObject") ?? "";
  if (!isIncluded(asked)) {
    const problem = `includeObject: Invalid value: ${JSON.stringify(asked)}: must be 'Metadata', 'Object', 'None', or empty`;
    throw badRequest(`Unable to convert to Table as requested: ${problem}`);
  }
  return toTable(kind, objects, metadata, {
    nowMs: context.clock.now(),
    includeObject: asked === "" ? "Metadata" : asked,
    noHeaders: noHeaders ?? false,
    metaVersion: output.metaVersion,
  });
}

function isIncluded(text: string): text is "" | "None" | "Metadata" | "Object" {
  return ["", "None", "Metadata", "Object"].includes(text);
}

/** Content of a table. */
export interface TableContent {
  readonly objects: readonly Readonly<ApiObject>[];
  readonly metadata: TableMetadata;
  readonly noHeaders?: boolean;
}
