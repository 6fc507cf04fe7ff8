import { jsonText } from "../json/exact-json.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import type { ApiStatusError } from "../errors/api-status-error.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { JsonFields } from "../kinds/schema/protobuf-encode.ts";
import type { ListPage } from "../rest/list.ts";
import type { ApiResponse } from "./api-request.ts";
import { warningHeader } from "./warnings.ts";

/** Headers of every response, as on the real server. */
const commonHeaders = { "cache-control": "no-cache, private" };
const jsonHeaders: Readonly<Record<string, string>> = { ...commonHeaders, "content-type": "application/json" };

/** Response with JSON that is already encoded and ends a line. */
export function jsonBytes(status: number, body: Uint8Array): ApiResponse {
  return { status, headers: jsonHeaders, body };
}

/** Response with JSON. It ends a line, as Go's encoder writes it. */
export function json(status: number, value: unknown): ApiResponse {
  return jsonBytes(status, Buffer.from(`${jsonText(value)}\n`));
}

/** Response with indented JSON. Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/responsewriters/writers.go, `WriteRawJSON`. */
export function rawJson(status: number, value: unknown): ApiResponse {
  return { status, headers: jsonHeaders, body: Buffer.from(JSON.stringify(value, undefined, 2)) };
}

const lineEnd = Buffer.from("\n");

/** Response with a stored object, whose JSON is cached without the end of its line. */
export function objectBytes(status: number, body: Uint8Array): ApiResponse {
  return jsonBytes(status, Buffer.concat([body, lineEnd]));
}

/** Response with plain text. */
export function text(status: number, body: string): ApiResponse {
  return {
    status,
    headers: { ...commonHeaders, "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body: Buffer.from(body),
  };
}

/** Response with an error. */
export function failure(error: ApiStatusError): ApiResponse {
  const response = json(error.status.code, error.status);
  const retryAfter = error.status.details?.retryAfterSeconds;
  return retryAfter === undefined ? response : { ...response, headers: { ...response.headers, "retry-after": String(retryAfter) } };
}

/** Response with the chunks of a watch. */
export function stream(body: AsyncIterable<Uint8Array>, contentType = "application/json"): ApiResponse {
  return { status: 200, headers: { ...jsonHeaders, "content-type": contentType }, body };
}

/** Adds `Warning` headers. */
export function withWarnings(response: ApiResponse, warnings: readonly string[]): ApiResponse {
  const header = warningHeader(warnings);
  if (header === undefined) return response;
  return { ...response, headers: { ...response.headers, warning: header } };
}

/** Encodes a page as a list object. The items are the cached JSON without kind and version, which only lists of custom resources repeat. */
export function listBytes(kind: Kind, page: ListPage): Uint8Array {
  const prefix = kind.custom === undefined ? Buffer.byteLength(JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind) })) : 1;
  const head = JSON.stringify({ kind: listKindOf(kind), apiVersion: apiVersionOf(kind), metadata: ownListMetadata(kind, page) });
  const parts: Uint8Array[] = [Buffer.from(`${head.slice(0, -1)},"items":[`)];
  page.items.forEach((stored, index) => {
    parts.push(index === 0 ? itemStart : nextItemStart, stored.json.subarray(prefix));
  });
  parts.push(listEnd);
  return Buffer.concat(parts);
}

const itemStart = Buffer.from("{");
const nextItemStart = Buffer.from(",{");
const listEnd = Buffer.from("]}\n");

/** Metadata of a list of whole objects. Those of custom resources always have a continue token, as an untyped list of Go has. */
function ownListMetadata(kind: Kind, page: ListPage): ReturnType<typeof listMetadata> {
  return kind.custom === undefined ? listMetadata(page) : { ...listMetadata(page), continue: page.continue ?? "" };
}

/** Metadata of a list; without a resourceVersion if its items are not stored. */
export function listMetadata(page: ListPage): Partial<Pick<ListPage, "resourceVersion" | "continue" | "remainingItemCount">> {
  return {
    ...(page.resourceVersion === "" ? {} : { resourceVersion: page.resourceVersion }),
    ...(page.continue === undefined ? {} : { continue: page.continue }),
    ...(page.remainingItemCount === undefined ? {} : { remainingItemCount: page.remainingItemCount }),
  };
}

/** `PartialObjectMetadata` of an object, as JSON. */
export function partialMetadata(object: Readonly<ApiObject>, metaVersion: "v1" | "v1beta1"): JsonFields {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${metaVersion}`, metadata: object.metadata };
}

/** Kind of a list of objects. */
export function listKindOf({ kind, custom }: Kind): string {
  return custom?.listKind ?? `${kind}List`;
}
