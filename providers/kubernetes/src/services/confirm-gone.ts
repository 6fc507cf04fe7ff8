import { isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, type DeepReadonly, type KubeClient, type KubernetesObject, type Service } from "@virtual-kubelet/kube-client";
import { mirroredSliceName } from "../identity/names.ts";
import { isMirrored, sourceOf } from "./mirror-tags.ts";
import { isMirrorable } from "./mirrored-service.ts";
import { serviceNameLabel } from "./mirrored-slice.ts";

/**
 * Asks the source's API server itself before the copy of a Service is removed, because a list can be wrong.
 *
 * @throws UnavailableError if a Service to mirror exists
 */
export async function confirmServiceGone(
  client: Pick<KubeClient, "get">,
  namespaces: readonly string[],
  name: string,
  signal: AbortSignal,
): Promise<void> {
  for (const namespace of namespaces) {
    const service = await found(client.get(resources.services, { namespace, name }, { signal }));
    if (service && isMirrorable(service)) throw stillThere(`service ${namespace}/${name}`);
  }
}

/**
 * The same for one EndpointSlice of a Service that is still mirrored.
 *
 * @throws UnavailableError if the slice exists and still belongs to the Service
 */
export async function confirmSliceGone(
  client: Pick<KubeClient, "get">,
  copy: DeepReadonly<KubernetesObject>,
  { chosen, scope }: { readonly chosen: DeepReadonly<Service>; readonly scope: string },
  signal: AbortSignal,
): Promise<void> {
  const source = sourceOf(copy.metadata);
  if (source === undefined || source.namespace !== chosen.metadata?.namespace) return;
  const slice = await found(client.get(resources.endpointSlices, source, { signal }));
  if (!slice || isMirrored(slice.metadata) || slice.metadata?.labels?.[serviceNameLabel] !== chosen.metadata.name) return;
  if (mirroredSliceName(scope, { ...source, addressType: slice.addressType }) === copy.metadata?.name)
    throw stillThere(`endpointslice ${source.namespace}/${source.name}`);
}

function stillThere(what: string): UnavailableError {
  return new UnavailableError(`${what}: according to the watch it is gone, but the API server has it; its copy stays`);
}

async function found<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
