import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ListQuery, WatchQuery } from "./client.ts";
import type { Resource } from "./resources.ts";

/** Target of a path; without a name, the collection. */
export interface PathParts {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/**
 * The path of an object or a collection: `/api/v1/namespaces/default/pods/web/status`. A namespaced collection without
 * a namespace is that of all namespaces.
 *
 * @throws InvalidInputError if a name is not allowed in a path, or an object's namespace is missing.
 */
export function resourcePath(resource: Resource<object>, parts: PathParts): string {
  const { group, version, plural, namespaced } = resource;
  const segments = group === "" ? ["api", version] : ["apis", group, version];
  if (namespaced && parts.namespace !== undefined) segments.push("namespaces", segment(plural, "namespace", parts.namespace));
  if (namespaced && parts.namespace === undefined && parts.name !== undefined) {
    throw new InvalidInputError(`path of ${plural} "${parts.name}": its namespace is missing, and ${plural} are namespaced`);
  }
  segments.push(plural);
  if (parts.name !== undefined) segments.push(segment(plural, "name", parts.name));
  if (parts.subresource !== undefined) segments.push(...parts.subresource.split("/").map((part) => segment(plural, "subresource", part)));
  return `/${segments.join("/")}`;
}

/** Returns the query string of a list or watch, with its `?`; empty without parameters. */
export function listQueryString(query: ListQuery | WatchQuery, more: Readonly<Record<string, string>> = {}): string {
  const parameters = new URLSearchParams(more);
  for (const [name, value] of Object.entries(query)) {
    if (name !== "namespace" && value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

function segment(plural: string, what: string, value: string): string {
  // Source: apimachinery `api/validation/path/name.go`.
  if (value === "" || value === "." || value === ".." || /[/%]/.test(value)) {
    throw new InvalidInputError(
      `path of ${plural}: ${what} "${value}" cannot be part of a path; it must not be empty, ".", "..", or contain "/" or "%"`,
    );
  }
  return encodeURIComponent(value);
}
