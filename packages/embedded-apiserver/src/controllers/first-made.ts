import { cronJobKind } from "../kinds/batch/cron-job.ts";
import { jobKind } from "../kinds/batch/job.ts";
import type { JobSpec } from "../kinds/batch/batch-fields.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { daemonSetKind } from "../kinds/workload/daemon-set.ts";
import { deploymentKind } from "../kinds/workload/deployment.ts";
import { replicaSetKind } from "../kinds/workload/replica-set.ts";
import { statefulSetKind } from "../kinds/workload/stateful-set.ts";
import type { StatefulSetSpec } from "../kinds/workload/workload-fields.ts";
import { newJob } from "./cron-job/cron-job-controller.ts";
import { daemonPod } from "./daemon-set/daemon-pod.ts";
import { newReplicaSet } from "./deployment/deployment-writes.ts";
import { jobPod } from "./job/job-template.ts";
import { replicaSetPod } from "./replica-set/replica-set-pod.ts";
import { templatePatch } from "./shared/revision-history.ts";
import { templateHash } from "./shared/template-hash.ts";
import { revisionHash } from "./stateful-set/revision-hash.ts";
import { statefulPod } from "./stateful-set/stateful-pod.ts";

/** An object to create, with its kind. */
export interface MadeObject {
  readonly kind: "Job" | "Pod" | "ReplicaSet";
  readonly object: object;
}

/**
 * Returns the first object that the controllers make of a workload: the ReplicaSet of a Deployment, the Job of a CronJob that is due at `nowMs`
 * (since the epoch), and the first pod of a ReplicaSet, a StatefulSet, a DaemonSet (for the node `nodeName`) or a Job. `undefined` for other
 * objects.
 *
 * @param workload - as the API server has stored it, with its defaults
 */
export function firstMade(
  workload: Readonly<ApiObject>,
  { nodeName, nowMs }: { readonly nodeName: string; readonly nowMs: number },
): MadeObject | undefined {
  const is = ({ group, version, kind }: Kind): boolean => workload["apiVersion"] === `${group}/${version}` && workload["kind"] === kind;
  if (is(deploymentKind)) return { kind: "ReplicaSet", object: newReplicaSet({ deployment: workload, spec: workload["spec"], old: [] }) };
  if (is(cronJobKind)) return { kind: "Job", object: newJob(workload, nowMs) };
  if (is(replicaSetKind)) return { kind: "Pod", object: replicaSetPod(workload) };
  if (is(statefulSetKind)) return { kind: "Pod", object: firstStatefulPod(workload) };
  if (is(daemonSetKind)) return { kind: "Pod", object: daemonPod(workload, nodeName, templateHash(workload["spec"].template, undefined)) };
  if (is(jobKind)) {
    const { completionMode }: JobSpec = workload["spec"];
    return { kind: "Pod", object: jobPod(workload, completionMode === "Indexed" ? 0 : undefined, undefined) };
  }
  return undefined;
}

function firstStatefulPod(set: Readonly<ApiObject>): object {
  const { template, ordinals }: StatefulSetSpec = set["spec"];
  const revision = `${set.metadata.name}-${revisionHash(templatePatch(template), 0)}`;
  return statefulPod(set, template, revision, ordinals?.start ?? 0);
}
