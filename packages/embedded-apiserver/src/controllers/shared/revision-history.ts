import type { Cluster } from "../../rest/cluster.ts";
import { equalJson } from "../../json/json-value.ts";
import { withSortedKeys } from "../../json/key-order.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { controllerRevisionKind } from "../../kinds/workload/controller-revision.ts";
import type { PodTemplate } from "../../kinds/workload/workload-fields.ts";
import { claimObjects } from "./claim-objects.ts";
import { ObjectIndex } from "./object-index.ts";
import { controllerOf, controllerReference } from "./ownership.ts";

const orphansOf = (namespace: string | undefined): string => `orphans/${namespace ?? ""}`;

/** Source: Kubernetes v1.36.3 pkg/controller/history/controller_history.go, ControllerRevisionName. */
const maxPrefixLength = 223;

/** Content of a new ControllerRevision. */
export interface NewRevision {
  readonly hash: string;
  /** Key of the label that holds the hash. */
  readonly hashLabel: string;
  readonly revision: number;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Data of a revision: a strategic merge patch that restores the template. */
export function templatePatch(template: PodTemplate): object {
  return { spec: { template: { ...template, $patch: "replace" } } };
}

/** ControllerRevisions of DaemonSets or StatefulSets. */
export class RevisionHistory implements Disposable {
  readonly #cluster: Cluster;
  readonly #ownerKind: Kind;
  readonly #index: ObjectIndex;

  constructor(cluster: Cluster, ownerKind: Kind) {
    this.#cluster = cluster;
    this.#ownerKind = ownerKind;
    this.#index = new ObjectIndex(cluster, controllerRevisionKind, (revision) => [
      controllerOf(revision)?.uid ?? orphansOf(revision.metadata.namespace),
    ]);
  }

  /** Revisions of an owner, oldest first. Adopts matching revisions without a controller. */
  of(owner: Readonly<ApiObject>): Readonly<ApiObject>[] {
    return claimObjects(this.#cluster, {
      owner,
      ownerKind: this.#ownerKind,
      kind: controllerRevisionKind,
      owned: this.#index.get(owner.metadata.uid),
      orphans: this.#index.get(orphansOf(owner.metadata.namespace)),
      canChange: ({ metadata }) => metadata.deletionTimestamp === undefined,
    }).toSorted((a, b) => revisionOf(a) - revisionOf(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** Creates a revision. @returns `undefined` if the name is taken by a different revision */
  create(owner: Readonly<ApiObject>, { hash, hashLabel, revision, annotations }: NewRevision): Readonly<ApiObject> | undefined {
    const template: PodTemplate = owner["spec"].template;
    const { name: ownerName, namespace } = owner.metadata;
    const name = `${ownerName.slice(0, maxPrefixLength)}-${hash}`;
    const data = templatePatch(template);
    const known = this.#cluster.get(controllerRevisionKind, namespace, name);
    if (known !== undefined) return equalJson(known["data"], data) ? known : undefined;
    return this.#cluster.create(controllerRevisionKind, {
      metadata: {
        name,
        namespace,
        labels: { ...template.metadata.labels, [hashLabel]: hash },
        ...(annotations === undefined ? {} : { annotations }),
        ownerReferences: [controllerReference(this.#ownerKind, owner)],
      },
      // DaemonSets of client-go compare the bytes with those that Go writes.
      data: withSortedKeys(data),
      revision,
    });
  }

  /** Gives a revision the highest number. */
  renumber({ metadata }: Readonly<ApiObject>, revision: number): Readonly<ApiObject> | undefined {
    return this.#cluster.update(controllerRevisionKind, metadata.namespace, metadata.name, (object) => ({ ...object, revision }));
  }

  /** Deletes the oldest revisions beyond the limit, except those in use. */
  trim(old: readonly Readonly<ApiObject>[], limit: number, isInUse: (revision: Readonly<ApiObject>) => boolean): void {
    let surplus = old.length - limit;
    for (const revision of old) {
      if (surplus <= 0) return;
      if (isInUse(revision)) continue;
      const { namespace, name, uid } = revision.metadata;
      this.#cluster.delete(controllerRevisionKind, namespace, name, { uid });
      surplus--;
    }
  }

  [Symbol.dispose](): void {
    this.#index[Symbol.dispose]();
  }
}

export function revisionOf(revision: Readonly<ApiObject>): number {
  return revision["revision"] ?? 0;
}

/** Whether a revision holds this template. */
export function holdsTemplate(revision: Readonly<ApiObject>, template: PodTemplate): boolean {
  return equalJson(revision["data"], templatePatch(template));
}
