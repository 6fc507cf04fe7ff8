import { ConflictError } from "@virtual-kubelet/errdefs";
import type { KubeClient, KubernetesObject, Resource } from "@virtual-kubelet/kube-client";
import type { MirrorStep } from "./mirror-steps.ts";
import { writtenBy } from "./mirror-tags.ts";
import { removeObject } from "./remove-mirrored.ts";

/**
 * Performs the step. An object is replaced or removed only if it is still the one that was looked at.
 *
 * @returns the stored object, if it was written
 * @throws ConflictError if the name belongs to another object or the object has changed; what KubeClient's methods throw
 */
export async function applyStep<T extends KubernetesObject>(
  client: KubeClient,
  resource: Resource<T>,
  step: MirrorStep<T>,
  nodeName: string,
  signal: AbortSignal,
): Promise<T | undefined> {
  switch (step.kind) {
    case "nothing":
      return undefined;
    case "create":
      return client.create(resource, writtenBy(step.wanted, nodeName), { signal });
    case "replace": {
      const { resourceVersion, uid, finalizers } = step.stored.metadata ?? {};
      const wanted = writtenBy(step.wanted, nodeName);
      const metadata = { ...wanted.metadata, resourceVersion, uid, ...(finalizers && { finalizers: [...finalizers] }) };
      return client.replace(resource, { ...wanted, metadata }, { signal });
    }
    case "recreate":
      await removeObject(client, resource, step.stored.metadata, signal);
      return client.create(resource, writtenBy(step.wanted, nodeName), { signal });
    case "remove":
      await removeObject(client, resource, step.stored.metadata, signal);
      return undefined;
    case "taken": {
      const { namespace, name } = step.stored.metadata ?? {};
      throw new ConflictError(
        `${resource.plural} ${namespace}/${name} is not a mirrored object, and stays as it is; delete it or rename it`,
      );
    }
    default:
      return step satisfies never;
  }
}
