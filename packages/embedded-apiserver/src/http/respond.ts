import type { ApiStatusError } from "../errors/api-status-error.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { apiVersionOf } from "../rest/rest-context.ts";
import type { ListPage } from "../rest/list.ts";
import type { ApiResponse } from "./api-request.ts";

/** Headers the real server gives to every answer. */
const commonHeaders = { "cache-control": "no-cache, private" };
const jsonHeaders: Readonly<Record<string, string>> = { ...commonHeaders, "content-type": "application/json" };

/** An answer of JSON that is already bytes. */
export function jsonBytes(status: number, body: Uint8Array): ApiResponse {
  return { status, headers: jsonHeaders, body };
}

/** An answer of JSON. */
export function json(status: number, value: unknown): ApiResponse {
  return jsonBytes(status, Buffer.from(JSON.stringify(value)));
}

/** An answer of plain text. */
export function text(status: number, body: string): ApiResponse {
  return {
    status,
    headers: { ...commonHeaders, "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body: Buffer.from(body),
  };
}

/** An answer that refuses. */
export function failure(error: ApiStatusError): ApiResponse {
  const response = json(error.status.code, error.status);
  const retryAfter = error.status.details?.retryAfterSeconds;
  return retryAfter === undefined ? response : { ...response, headers: { ...response.headers, "retry-after": String(retryAfter) } };
}

/** The answer of chunks that a watch is. */
export function stream(body: AsyncIterable<Uint8Array>): ApiResponse {
  return { status: 200, headers: jsonHeaders, body };
}

/** Adds what the caller is warned of. */
export function withWarnings(response: ApiResponse, warnings: readonly string[]): ApiResponse {
  if (warnings.length === 0) return response;
  const header = warnings.map((warning) => `299 - "${warning.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`).join(", ");
  return { ...response, headers: { ...response.headers, warning: header } };
}

/**
 * The list object of a page. Items are the cached JSON without the kind and version that the list carries for all; only
 * custom resources have them in lists, too.
 */
export function listBytes(kind: Kind, page: ListPage): Uint8Array {
  const prefix = kind.custom === undefined ? Buffer.byteLength(JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind) })) : 1;
  const head = JSON.stringify({ kind: listKindOf(kind), apiVersion: apiVersionOf(kind), metadata: listMetadata(page) });
  const parts: Uint8Array[] = [Buffer.from(`${head.slice(0, -1)},"items":[`)];
  page.items.forEach((stored, index) => {
    parts.push(index === 0 ? itemStart : nextItemStart, stored.json.subarray(prefix));
  });
  parts.push(listEnd);
  return Buffer.concat(parts);
}

const itemStart = Buffer.from("{");
const nextItemStart = Buffer.from(",{");
const listEnd = Buffer.from("]}");

/** A list's metadata. */
export function listMetadata(page: ListPage): Pick<ListPage, "resourceVersion" | "continue" | "remainingItemCount"> {
  return {
    resourceVersion: page.resourceVersion,
    ...(page.continue === undefined ? {} : { continue: page.continue }),
    ...(page.remainingItemCount === undefined ? {} : { remainingItemCount: page.remainingItemCount }),
  };
}

/** Nothing but an object's metadata. */
export function partialMetadata(object: Readonly<ApiObject>): unknown {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata };
}

/** The kind of a list of objects. */
export function listKindOf({ kind, custom }: Kind): string {
  return custom?.listKind ?? `${kind}List`;
}
