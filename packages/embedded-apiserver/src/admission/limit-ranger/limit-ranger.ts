import { forbidden } from "../../errors/api-status-error.ts";
import { ObjectIndex } from "../../controllers/shared/object-index.ts";
import type { LimitRangeItem } from "../../kinds/plain/validate-quotas.ts";
import { limitRangeKind } from "../../kinds/plain/quotas.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import type { AdmissionPlugin, AdmissionRequest, AdmissionSubject } from "../admission-plugin.ts";
import { aggregateProblems } from "../../errors/aggregate-problems.ts";
import type { AdmissionContext } from "../admission-context.ts";
import { applyLimits, claimLimitProblems, podLimitProblems } from "./limits.ts";

/**
 * Applies the limit ranges of a namespace to pods and volume claims.
 * Source: Kubernetes v1.36.3 plugin/pkg/admission/limitranger/admission.go.
 */
export function createLimitRanger({ cluster, resources }: AdmissionContext): AdmissionPlugin {
  const ranges = resources.use(new ObjectIndex(cluster, limitRangeKind, ({ metadata }) => [metadata.namespace ?? ""]));
  const limitsOf = (namespace: string): readonly (readonly LimitRangeItem[])[] =>
    ranges.get(namespace).map(({ spec }) => (spec.limits ?? []) as LimitRangeItem[]);
  return {
    name: "LimitRanger",
    handles: (subject) => isLimited(subject) && ranges.has(subject.namespace),
    mutate({ kind, namespace, object, old }) {
      if (kind !== podKind || object === undefined || isDeleted(old)) return;
      for (const limits of limitsOf(namespace)) applyLimits(object, limits);
    },
    validate({ kind, namespace, name, object, old }) {
      if (object === undefined || isDeleted(old)) return;
      for (const limits of limitsOf(namespace)) {
        const problems = kind === podKind ? podLimitProblems(object, limits) : claimLimitProblems(object, limits);
        if (problems.length > 0) throw forbidden(kind, name, aggregateProblems(problems));
      }
    },
  };
}

/** Pods are limited when they are created or resized, claims whenever they are written. */
function isLimited({ kind, operation, subresource }: AdmissionSubject): boolean {
  if (kind === podKind) return (operation === "CREATE" && subresource === "") || (operation === "UPDATE" && subresource === "resize");
  return kind === persistentVolumeClaimKind && subresource === "" && (operation === "CREATE" || operation === "UPDATE");
}

function isDeleted(old: AdmissionRequest["old"]): boolean {
  return old?.metadata.deletionTimestamp !== undefined;
}
