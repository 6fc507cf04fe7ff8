import { ApiStatusError, notFound, tooLargeResourceVersion } from "../errors/api-status-error.ts";
import { parseFieldSelector } from "../selectors/field-selector.ts";
import type { ApiObject } from "../kinds/kind.ts";
import { parseLabelSelector } from "../selectors/label-selector.ts";
import { listObjects, parseVersion } from "../rest/list.ts";
import { collectionOf } from "../rest/rest-context.ts";
import { WatchStream, type WatchOptions } from "../storage/watch.ts";
import type { ApiResponse } from "./api-request.ts";
import { parseListOptions, type ListOptions } from "./query-options.ts";
import { addressOf, objectResponse, tableOf, type ResourceCall, type ResourceContext } from "./resource-call.ts";
import { json, jsonBytes, listBytes, listMetadata, partialMetadata, stream } from "./respond.ts";

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
  switch (call.form) {
    case "object":
      return jsonBytes(200, listBytes(call.kind, page));
    case "metadata":
      return json(200, {
        kind: "PartialObjectMetadataList",
        apiVersion: "meta.k8s.io/v1",
        metadata: listMetadata(page),
        items: page.items.map(({ object }) => partialMetadata(object)),
      });
    case "table":
      return json(200, tableOf(context, call, { objects: page.items.map(({ object }) => object), metadata: listMetadata(page) }));
    default:
      return call.form satisfies never;
  }
}

/** Predicate of the label and field selectors; `undefined` if there are none. */
export function parseSelection(
  { kind }: ResourceCall,
  options: Pick<ListOptions, "labelSelector" | "fieldSelector">,
): ((object: Readonly<ApiObject>) => boolean) | undefined {
  const labels = parseLabelSelector(options.labelSelector);
  const fields = parseFieldSelector(options.fieldSelector, kind);
  if (labels === undefined && fields === undefined) return undefined;
  return (object) => (fields === undefined || fields(object)) && (labels === undefined || labels(object.metadata.labels ?? {}));
}

function watchVerb(
  context: ResourceContext,
  call: ResourceCall,
  { options, selects }: { options: ListOptions; selects: WatchOptions["selects"] },
): ApiResponse {
  checkVersionText(options.resourceVersion);
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
      timeoutMs:
        options.timeoutSeconds !== undefined && options.timeoutSeconds > 0
          ? options.timeoutSeconds * 1000
          : minWatchMs * (1 + context.random.next()),
      transform: watchTransform(context, call),
    },
  ).start();
  context.watches.add(watch);
  watch.onClose(() => context.watches.delete(watch));
  return stream(watch);
}

/** The real server sets no reason in this error. */
function checkVersionText(text: string): void {
  if (/^\d*$/.test(text)) return;
  const given = JSON.stringify(text);
  throw new ApiStatusError({
    code: 500,
    message: `resourceVersion: Invalid value: ${given}: strconv.ParseUint: parsing ${given}: invalid syntax`,
  });
}

function watchTransform(context: ResourceContext, call: ResourceCall): WatchOptions["transform"] {
  if (call.form === "object") return undefined;
  if (call.form === "metadata") return partialMetadata;
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
