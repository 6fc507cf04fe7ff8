import { apiVersionOf } from "../kinds/api-version.ts";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ApiObject } from "../kinds/kind.ts";
import { type RestContext } from "../rest/rest-context.ts";

/**
 * Creates objects in order, each like a POST, and then writes the status of those that have one.
 *
 * @param manifests - are not modified
 * @throws InvalidInputError for a kind the server does not know; ApiStatusError if the server refuses an object
 */
export function seedObjects(context: RestContext, manifests: readonly object[]): void {
  for (const manifest of manifests) {
    // As over HTTP, dates become strings and `undefined` members are dropped.
    const object = JSON.parse(JSON.stringify(manifest)) as Partial<ApiObject>;
    const kind = context.kinds.find((each) => each.kind === object.kind && apiVersionOf(each) === object.apiVersion);
    if (kind === undefined) throw unknownKind(object);
    const { status } = object as { readonly status?: unknown };
    const { namespace, name } = context.cluster.create(kind, object).metadata;
    if (status === undefined || kind.hasStatus !== true) continue;
    context.cluster.update(kind, namespace, name, (created) => ({ ...created, status }), "status");
  }
}

function unknownKind({ apiVersion, kind, metadata }: Partial<ApiObject>): InvalidInputError {
  return new InvalidInputError(
    `create the object ${JSON.stringify(metadata?.name ?? "")}: apiVersion is ${JSON.stringify(apiVersion)}, kind is ` +
      `${JSON.stringify(kind)}; expected a kind that the server knows`,
  );
}
