import { badRequest, notFound } from "../errors/api-status-error.ts";
import type { ApiObject } from "../kinds/kind.ts";
import { addressOf, type ResourceCall, type ResourceContext } from "../http/resource-call.ts";
import { collectionOf } from "../rest/rest-context.ts";

/** Pod that a request names. @throws ApiStatusError 404 */
export function podOf({ rest }: ResourceContext, call: ResourceCall): Readonly<ApiObject> {
  const { kind, namespace, name } = addressOf(call);
  const stored = collectionOf(rest, kind).get(namespace, name);
  if (stored === undefined) throw notFound(kind, name);
  return stored.object;
}

/**
 * Container that a request names, or the pod's only one.
 *
 * Source: pkg/registry/core/pod/strategy.go of Kubernetes v1.36.3, `validateContainer`.
 *
 * @throws ApiStatusError 400 if the container does not exist, or if none is named and there are several
 */
export function containerOf({ metadata, spec }: Readonly<ApiObject>, asked: string | null): string {
  const namesOf = (list: readonly { readonly name: string }[] | undefined): string[] => (list ?? []).map(({ name }) => name);
  const main = namesOf(spec.containers);
  const all = [...namesOf(spec.initContainers), ...main, ...namesOf(spec.ephemeralContainers)];
  if (asked !== null && asked !== "") {
    if (all.includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
  }
  const [only, second] = main;
  if (only !== undefined && second === undefined) return only;
  throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${all.join(" ")}]`);
}

/** Builds a path from segments that need escaping. */
export function pathOf(...segments: readonly (string | undefined)[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment ?? "")}`).join("");
}
