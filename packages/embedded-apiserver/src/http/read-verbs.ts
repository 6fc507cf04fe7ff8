import { apiVersionOf } from "../kinds/api-version.ts";
import { notAcceptableForm, notFound, plainFailure, tooLargeResourceVersion } from "../errors/api-status-error.ts";
import { fieldMatcher } from "../selectors/field-selector.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { encodeProtobuf, encodeProtobufList, encodeWatchFrame, type JsonFields } from "../kinds/schema/protobuf-encode.ts";
import { listObjects, parseVersion, type ListPage, versionProblem } from "../rest/list.ts";
import { collectionOf } from "../rest/rest-context.ts";
import { WatchStream, type WatchOptions } from "../storage/watch.ts";
import type { ApiResponse } from "./api-request.ts";
import { parseListOptions, type ListOptions } from "./query-options.ts";
import { protobufBytes } from "./encoded-response.ts";
import { mediaTypes } from "./negotiation.ts";
import { addressOf, goType, objectResponse, tableOf, type ResourceCall, type ResourceContext } from "./resource-call.ts";
import { json, jsonBytes, listBytes, listKindOf, listMetadata, partialMetadata, stream } from "./respond.ts";

/** Source: k8s.io/apiserver v0.36.3 pkg/server/config.go, `MinRequestTimeout`. A watch lasts one to two times as long. */
const minWatchMs = 1_800_000;

/** GET of an object. */
export function getVerb(context: ResourceContext, call: ResourceCall): ApiResponse {
  const { kind, namespace, name } = addressOf(call);
  const version = call.query.get("resourceVersion") ?? "";
  checkVersionText(version);
  const wanted = parseVersion(version);
  const latest = context.rest.storage.resourceVersion;
  if (wanted > latest) throw tooLargeResourceVersion(wanted, latest);
  const stored = collectionOf(context.rest, kind).get(namespace, name);
  if (stored === undefined) throw notFound(kind, name);
  return objectResponse(context, call, 200, stored);
}

/** GET of a collection, or a watch. */
export function listVerb(context: ResourceContext, call: ResourceCall): ApiResponse {
  const options = parseListOptions(call.query);
  const selects = parseSelection(call, options);
  if (options.watch) return watchVerb(context, call, { options, selects });
  const page = listObjects(context.rest, call.kind, { ...options, namespace: call.target.namespace, selects });
  return listResponse(context, call, page);
}

/** Response with a list in the requested form. */
export function listResponse(context: ResourceContext, call: ResourceCall, page: ListPage): ApiResponse {
  const { form, as, encoding, metaVersion } = call.output;
  switch (form) {
    case "object":
      return encoding === "protobuf" ? protobufBytes(200, protobufList(call.kind, page)) : jsonBytes(200, listBytes(call.kind, page));
    case "metadata":
      if (as === "PartialObjectMetadata")
        throw notAcceptableForm(`you requested PartialObjectMetadata, but the requested object is a list (${goType(call.kind, "List")})`);
      return json(200, {
        kind: "PartialObjectMetadataList",
        apiVersion: `meta.k8s.io/${metaVersion}`,
        metadata: listMetadata(page),
        items: page.items.map(({ object }) => partialMetadata(object, metaVersion)),
      });
    case "table":
      return json(200, tableOf(context, call, { objects: page.items.map(({ object }) => object), metadata: listMetadata(page) }));
    default:
      return form satisfies never;
  }
}

function protobufList(kind: Kind, page: ListPage): Uint8Array {
  const head = { kind: listKindOf(kind), apiVersion: apiVersionOf(kind), metadata: listMetadata(page) };
  return encodeProtobufList(
    head,
    page.items.map(({ object }) => object),
  );
}

/** Predicate of the label and field selectors; `undefined` if there are none. */
export function parseSelection(
  { kind }: ResourceCall,
  { labels, fields: terms }: Pick<ListOptions, "labels" | "fields">,
): ((object: Readonly<ApiObject>) => boolean) | undefined {
  const fields = fieldMatcher(terms, kind);
  if (labels === undefined && fields === undefined) return undefined;
  return (object) => (fields === undefined || fields(object)) && (labels === undefined || labels(object.metadata.labels ?? {}));
}

function watchVerb(
  context: ResourceContext,
  call: ResourceCall,
  { options, selects }: { options: ListOptions; selects: WatchOptions["selects"] },
): ApiResponse {
  checkVersionText(options.resourceVersion);
  const { form, encoding, metaVersion } = call.output;
  const isProtobuf = encoding === "protobuf";
  const watch = new WatchStream(
    {
      clock: context.clock,
      collection: collectionOf(context.rest, call.kind),
      latestVersion: () => context.rest.storage.resourceVersion,
      bufferLimit: context.watchBufferLimit,
    },
    {
      namespace: call.target.namespace,
      selects,
      resourceVersion: options.resourceVersion === "" ? undefined : parseVersion(options.resourceVersion),
      sendInitialEvents: options.sendInitialEvents,
      allowBookmarks: options.allowWatchBookmarks,
      timeoutMs: watchMs(options.timeoutSeconds ?? 0) ?? minWatchMs * (1 + context.random.next()),
      transform: watchTransform(context, call),
      asBookmark:
        form === "metadata"
          ? ({ metadata }) => ({ kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${metaVersion}`, metadata })
          : undefined,
      frame: isProtobuf ? protobufFrame : undefined,
    },
  ).start();
  context.watches.add(watch);
  watch.onClose(() => context.watches.delete(watch));
  return stream(watch, isProtobuf ? `${mediaTypes.protobuf};stream=watch` : mediaTypes.json);
}

/** Time of a watch as Go computes it, in nanoseconds of 64 bits: what is negative or overflows has passed. @returns `undefined` for 0 */
function watchMs(seconds: number): number | undefined {
  const nanoseconds = BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n);
  return nanoseconds === 0n ? undefined : Math.max(0, Number(nanoseconds) / 1e6);
}

/** The real server sets no reason in this error. */
function checkVersionText(text: string): void {
  const message = versionProblem(text);
  if (message !== undefined) throw plainFailure(message);
}

function protobufFrame(type: string, object: JsonFields): Buffer {
  return encodeWatchFrame(type, encodeProtobuf(object));
}

function watchTransform(context: ResourceContext, call: ResourceCall): WatchOptions["transform"] {
  const { form, metaVersion } = call.output;
  if (form === "object") return undefined;
  if (form === "metadata") return (object) => partialMetadata(object, metaVersion);
  let isFirst = true;
  return (object) => {
    // Only the first table of a watch has column definitions.
    const table = tableOf(context, call, {
      objects: [object],
      metadata: { resourceVersion: object.metadata.resourceVersion },
      noHeaders: !isFirst,
    });
    isFirst = false;
    return table;
  };
}
