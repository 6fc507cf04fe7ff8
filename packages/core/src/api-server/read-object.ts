import type { Clock } from "@virtual-kubelet/clock";
import { isForbidden, isNotFound, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { isGoneObject, type KubeClient, type KubernetesObject, type ObjectName, type Resource } from "@virtual-kubelet/kube-client";

/** Delays of retries after a refusal, in milliseconds, because the Node authorizer may learn of a pod later than the node. */
const forbiddenRetriesMs: readonly number[] = [100, 200, 400, 800];

export interface ReadObjectOptions<T extends KubernetesObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly clock: Clock;
}

/**
 * Reads an object that a pod of the node refers to.
 *
 * @param isKnown - whether the node was allowed to read it before, so that a refusal counts at once. Default: `false`
 * @returns `undefined` if the API server itself reports that there is none
 * @throws UnavailableError for a 404 from anything else; the API server's error; `signal.reason`
 */
export async function readObject<T extends KubernetesObject>(
  { client, resource, clock }: ReadObjectOptions<T>,
  key: ObjectName,
  signal: AbortSignal,
  isKnown = false,
): Promise<T | undefined> {
  for (let attempt = 0; ; attempt++) {
    try {
      const object = await client.get(resource, key, { signal });
      if (object.metadata?.managedFields) object.metadata.managedFields = undefined;
      return object;
    } catch (error) {
      if (isGoneObject(error, resource, key.name)) return undefined;
      // A pod without its optional secret would run differently than intended.
      if (isNotFound(error)) throw new UnavailableError(`${messageOf(error)}: this is not the API server's own answer`, { cause: error });
      const retryMs = forbiddenRetriesMs[attempt];
      if (!isForbidden(error) || isKnown || retryMs === undefined) throw error;
      await clock.sleep(retryMs, signal);
    }
  }
}
