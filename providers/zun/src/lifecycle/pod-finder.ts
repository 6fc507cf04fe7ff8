import type { Owner, PodRef } from "@virtual-kubelet/core";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import { readLabels } from "../pod/pod-labels.ts";
import { observeCapsule, observeContainer, type Observation } from "../status/observation.ts";
import type { PodBook } from "../status/pod-book.ts";
import type { ZunApi } from "../zun/zun-api.ts";

/** What {@link PodFinder} needs. */
export interface PodFinderDeps {
  readonly api: Pick<ZunApi, "listContainers" | "listCapsules" | "showContainer" | "showCapsule">;
  readonly book: PodBook;
  readonly owner: Owner;
}

/** Finds pods in Zun: by label in its lists, by uuid once they are known. What it finds is noted. */
export class PodFinder {
  readonly #deps: PodFinderDeps;

  constructor(deps: PodFinderDeps) {
    this.#deps = deps;
  }

  /**
   * All containers and capsules of this cluster and node, as Zun's database has them: up to a minute old.
   *
   * @param withCapsules - one more request
   */
  async list(signal: AbortSignal, { withCapsules }: { readonly withCapsules: boolean }): Promise<readonly Observation[]> {
    const { api } = this.#deps;
    const [containers, capsules] = await Promise.all([api.listContainers(signal), withCapsules ? api.listCapsules(signal) : []]);
    return [
      ...containers.flatMap((container) => {
        const labels = readLabels(container.labels);
        return labels ? [observeContainer(container, labels)] : [];
      }),
      ...capsules.flatMap((capsule) => {
        const labels = readLabels(capsule.labels);
        return labels ? [observeCapsule(capsule, labels)] : [];
      }),
    ].filter((observed) => this.#isOurs(observed) && observed.status !== "Deleted");
  }

  /** The pod as it is now. @throws NotFoundError when Zun holds none of that UID for this node */
  async find(ref: PodRef, signal: AbortSignal): Promise<Observation> {
    const { book } = this.#deps;
    const known = book.observed(ref.uid);
    const fresh = (known && (await this.look(known, signal))) ?? (await this.#findByLabel(ref.uid, signal));
    if (!fresh) {
      throw new NotFoundError(`find pod ${ref.namespace}/${ref.name}: Zun holds no container and no capsule labelled with UID ${ref.uid}`);
    }
    book.note(fresh);
    return fresh;
  }

  /** Looks at one container or capsule. @returns `undefined` if it is gone */
  async look({ kind, uuid, labels }: Observation, signal: AbortSignal): Promise<Observation | undefined> {
    const { api } = this.#deps;
    try {
      const observed =
        kind === "container"
          ? observeContainer(await api.showContainer(uuid, signal), labels)
          : observeCapsule(await api.showCapsule(uuid, signal), labels);
      return observed.status === "Deleted" ? undefined : observed;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #findByLabel(uid: string, signal: AbortSignal): Promise<Observation | undefined> {
    const all = await this.list(signal, { withCapsules: true });
    const [oldest] = oldestFirst(all.filter(({ labels }) => labels.ref.uid === uid));
    return oldest && (needsLook(oldest) ? await this.look(oldest, signal) : oldest);
  }

  #isOurs({ labels }: Observation): boolean {
    const { owner } = this.#deps;
    return labels.owner.clusterId === owner.clusterId && labels.owner.nodeName === owner.nodeName;
  }
}

/** In a list a container that has ended has no exit code, or that of an earlier end. */
export function needsLook({ kind, status }: Observation): boolean {
  return kind === "container" && status === "Stopped";
}

/** The first stays where one pod has several: a create whose answer was lost may have come through. */
export function oldestFirst(observations: readonly Observation[]): readonly Observation[] {
  const key = ({ createdAt = "", uuid }: Observation): string => `${createdAt} ${uuid}`;
  return observations.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
