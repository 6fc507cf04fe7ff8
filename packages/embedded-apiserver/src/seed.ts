import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { apiVersionOf, type RestContext } from "./rest/rest-context.ts";

/** An object as in a manifest. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string; readonly generateName?: string; readonly namespace?: string };
}

/**
 * Creates objects in their order, each as a POST does, and then writes the status that a manifest has.
 *
 * @throws InvalidInputError for a kind the server does not know; ApiStatusError for what it refuses
 */
export function seedObjects(context: RestContext, manifests: readonly Manifest[]): void {
  for (const manifest of manifests) {
    const { apiVersion, kind: name } = manifest;
    const kind = context.kinds.find((each) => each.kind === name && apiVersionOf(each) === apiVersion);
    if (kind === undefined)
      throw new InvalidInputError(`create the object ${manifest.metadata.name ?? ""}: the server does not know ${name} of ${apiVersion}`);
    const created = context.cluster.create(kind, manifest);
    const status: unknown = "status" in manifest ? manifest.status : undefined;
    if (status === undefined || kind.hasStatus !== true) continue;
    const { namespace, name: createdName } = created.metadata;
    context.cluster.update(kind, namespace, createdName, (object) => ({ ...object, status }), "status");
  }
}
