import { ApiStatusError, notFound } from "../errors/api-status-error.ts";
import { componentStatuses } from "../kinds/component-status.ts";
import { StoredObject } from "../storage/storage.ts";
import type { ApiResponse } from "./api-request.ts";
import { parseListOptions } from "./query-options.ts";
import { listResponse, parseSelection } from "./read-verbs.ts";
import { objectResponse, type ResourceCall, type ResourceContext } from "./resource-call.ts";

/** GET of the state of a component. Source of this file: pkg/registry/core/componentstatus/rest.go of Kubernetes v1.36.3. */
export function getComponentStatus(context: ResourceContext, call: ResourceCall): ApiResponse {
  const { name = "" } = call.target;
  const found = componentStatuses(context.hasControllers).find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw notFound({ group: "", plural: "componentstatus" }, name);
  return objectResponse(context, call, 200, new StoredObject(found, 0));
}

/** GET of the states of all components. */
export function listComponentStatuses(context: ResourceContext, call: ResourceCall): ApiResponse {
  const options = parseListOptions(call.query);
  const selects = parseSelection(call, options) ?? (() => true);
  const { plural } = call.kind;
  if (options.watch) {
    const message = `watch is not supported on resources of kind ${JSON.stringify(plural)}`;
    throw new ApiStatusError({ code: 405, reason: "MethodNotAllowed", message, details: { kind: plural } });
  }
  const items = componentStatuses(context.hasControllers).filter(selects);
  return listResponse(context, call, { items: items.map((object) => new StoredObject(object, 0)), resourceVersion: "" });
}
