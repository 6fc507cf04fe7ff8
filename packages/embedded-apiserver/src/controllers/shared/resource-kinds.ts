import { isStorageKind, storageFormOf, type Kind } from "../../kinds/kind.ts";
import { Disposables } from "../../resources/disposables.ts";
import type { Cluster } from "../../rest/cluster.ts";

/** Name of a resource in all its versions and groups, such as `deployments.apps`, or `pods.` for the core group. */
export function resourceOf(kind: Kind): string {
  return `${kind.plural}.${storageFormOf(kind).group}`;
}

/** One served version of each resource: the stored one if it is served. */
export function oneVersionEach(kinds: readonly Kind[]): Kind[] {
  const chosen = new Map<string, Kind>();
  for (const kind of kinds) {
    const resource = resourceOf(kind);
    if (isStorageKind(kind) || !chosen.has(resource)) chosen.set(resource, kind);
  }
  return [...chosen.values()];
}

/**
 * Calls `start` with one served version of each current and future resource, and disposes its result when that version is no longer served.
 *
 * @returns a handle that disposes all results
 */
export function followResources(cluster: Cluster, start: (kind: Kind) => Disposable): Disposable {
  const followed = new Map<string, { readonly kind: Kind; readonly end: Disposable }>();
  const follow = (kind: Kind): void => void followed.set(resourceOf(kind), { kind, end: start(kind) });
  for (const kind of oneVersionEach(cluster.kinds())) follow(kind);
  const resources = new Disposables();
  resources.defer(() => followed.forEach(({ end }) => end[Symbol.dispose]()));
  resources.use(
    cluster.watchKinds(({ type, kind }) => {
      const resource = resourceOf(kind);
      const current = followed.get(resource);
      if (type === "ADDED") {
        if (current === undefined) follow(kind);
        return;
      }
      if (current?.kind !== kind) return;
      current.end[Symbol.dispose]();
      followed.delete(resource);
      const [other] = oneVersionEach(cluster.kinds().filter((each) => resourceOf(each) === resource));
      if (other !== undefined) follow(other);
    }),
  );
  return resources;
}
