import type { Cluster } from "../../rest/cluster.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import type { StatefulSetSpec } from "../../kinds/workload/workload-fields.ts";
import { wantedOwners } from "./claim-retention.ts";
import { isWanted } from "./stateful-plan.ts";
import { claimName, statefulClaim } from "./stateful-pod.ts";
import type { Report } from "./stateful-report.ts";

/** Claims of StatefulSets' pods. Source: Kubernetes v1.36.3 pkg/controller/statefulset/stateful_pod_control.go. */
export class StatefulClaims {
  readonly #cluster: Cluster;
  readonly #report: Report;

  constructor(cluster: Cluster, report: Report) {
    this.#cluster = cluster;
    this.#report = report;
  }

  /** Creates the missing claims of a pod. @throws if one of them is being deleted */
  create(set: Readonly<ApiObject>, pod: string, ordinal: number): void {
    const { volumeClaimTemplates = [] }: StatefulSetSpec = set["spec"];
    for (const template of volumeClaimTemplates) {
      const name = claimName(set, template, ordinal);
      const known = this.#cluster.get(persistentVolumeClaimKind, set.metadata.namespace, name);
      const create = (): unknown => this.#cluster.create(persistentVolumeClaimKind, statefulClaim(set, template, ordinal));
      if (known === undefined) this.#report(set, "Create", `Claim ${name} Pod ${pod}`, create, "success");
      else if (known.metadata.deletionTimestamp !== undefined) throw new Error(`pvc ${name} is being deleted`);
    }
  }

  /** Sets the owners of a pod's claims according to the set's retention policy. */
  keepOwners(set: Readonly<ApiObject>, pod: Readonly<ApiObject>, ordinal: number): void {
    const spec: StatefulSetSpec = set["spec"];
    for (const claim of this.#of(set, ordinal)) {
      const owners = wantedOwners(claim, set, pod, !isWanted(spec, ordinal));
      if (owners === undefined) continue;
      this.#cluster.update(persistentVolumeClaimKind, claim.metadata.namespace, claim.metadata.name, (object) => {
        if (owners.length > 0) object.metadata.ownerReferences = owners;
        else delete object.metadata.ownerReferences;
        return object;
      });
    }
  }

  /** Whether a claim still belongs to an earlier pod with the same name, which has to be deleted first. */
  hasStale(set: Readonly<ApiObject>, pod: string, ordinal: number): boolean {
    const { persistentVolumeClaimRetentionPolicy: policy = {} }: StatefulSetSpec = set["spec"];
    if (policy.whenScaled !== "Delete") return false;
    return this.#of(set, ordinal).some(({ metadata }) =>
      metadata.ownerReferences?.some(({ kind, name }) => kind === "Pod" && name === pod),
    );
  }

  #of(set: Readonly<ApiObject>, ordinal: number): Readonly<ApiObject>[] {
    const { volumeClaimTemplates = [] }: StatefulSetSpec = set["spec"];
    return volumeClaimTemplates
      .map((template) => this.#cluster.get(persistentVolumeClaimKind, set.metadata.namespace, claimName(set, template, ordinal)))
      .filter((claim) => claim !== undefined);
  }
}
