import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ApiObject } from "../kinds/kind.ts";
import { apiVersionOf, type RestContext } from "../rest/rest-context.ts";

/**
 * Creates objects in their order, each as a POST does, and then writes the status that a manifest has.
 *
 * @param manifests - are left as they are
 * @throws InvalidInputError for a kind the server does not know; ApiStatusError for what it refuses
 */
export function seedObjects(context: RestContext, manifests: readonly object[]): void {
  for (const manifest of manifests) {
    // Dates become text, and what is undefined is not there: as over HTTP.
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
