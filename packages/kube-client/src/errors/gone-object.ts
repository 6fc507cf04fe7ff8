import { isNotFound } from "@virtual-kubelet/errdefs";
import type { Resource } from "../rest/resources.ts";
import { statusOf } from "./api-error.ts";

/**
 * Whether the API server itself reports that the object does not exist. Not every 404 does: a load balancer's default backend, or
 * a proxy, can answer with one in the API server's place. Source: apimachinery `api/errors`, `NewNotFound`.
 */
export function isGoneObject(error: unknown, resource: Resource<object>, name: string): boolean {
  if (!isNotFound(error)) return false;
  const status = statusOf(error);
  return status?.reason === "NotFound" && status.details?.kind === resource.plural && status.details.name === name;
}
