import { ObjectIndex } from "../../controllers/shared/object-index.ts";
import { forbidden } from "../../errors/api-status-error.ts";
import { resourceQuotaKind } from "../../kinds/plain/quotas.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { serviceKind } from "../../kinds/service/service.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import type { AdmissionPlugin, AdmissionRequest, AdmissionSubject } from "../admission-plugin.ts";
import type { AdmissionContext } from "../admission-context.ts";
import { checkQuota } from "./check-quota.ts";
import { isQuotaKind } from "./usage.ts";

/**
 * Refuses objects that exceed a quota of their namespace, and counts the others in its status.
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/resourcequota.
 */
export function createResourceQuotaPlugin({ cluster, clock, resources }: AdmissionContext): AdmissionPlugin {
  const quotas = resources.use(new ObjectIndex(cluster, resourceQuotaKind, ({ metadata }) => [metadata.namespace ?? ""]));
  return {
    name: "ResourceQuota",
    handles: (subject) => quotas.has(subject.namespace) && isCounted(subject),
    validate(request) {
      const { kind, namespace, name, object, old, subresource, dryRun } = request;
      if (object === undefined || isUncountedUpdate(request)) return;
      const counted = quotas
        .get(namespace)
        .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
        .map((quota) => {
          const isStatus = subresource === "status";
          const decision = checkQuota(quota, { kind, object, old, isStatus, nowMs: clock.now() });
          if ("problem" in decision) throw forbidden(kind, name, decision.problem);
          return { quota, used: decision.used };
        });
      for (const { quota, used } of dryRun ? [] : counted) {
        if (used === undefined) continue;
        const change = (stored: typeof quota): typeof quota => ({ ...stored, status: { ...stored["status"], used } });
        cluster.update(resourceQuotaKind, namespace, quota.metadata.name, change, "status");
      }
    },
  };
}

/** Requests that may change what is counted. Source: `Handles` of the evaluators under pkg/quota/v1/evaluator/core. */
function isCounted({ operation, kind, subresource }: AdmissionSubject): boolean {
  if (operation !== "CREATE" && operation !== "UPDATE") return false;
  if (kind === podKind) return subresource === "" || (subresource === "resize" && operation === "UPDATE");
  if (kind === persistentVolumeClaimKind) return subresource === "" || (subresource === "status" && operation === "UPDATE");
  return subresource === "" && (kind === serviceKind || operation === "CREATE") && isQuotaKind(kind);
}

/** An update of a pod counts only if it changes the pod's scope. */
function isUncountedUpdate({ operation, kind, subresource, object, old }: AdmissionRequest): boolean {
  if (operation !== "UPDATE" || kind !== podKind || subresource !== "") return false;
  return (object?.["spec"].activeDeadlineSeconds === undefined) === (old?.["spec"].activeDeadlineSeconds === undefined);
}
