import { Disposables } from "../../resources/disposables.ts";
import type { JobSpec, JobStatus } from "../../kinds/batch/batch-fields.ts";
import { jobKind } from "../../kinds/batch/job.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

/**
 * Deletes finished Jobs after `ttlSecondsAfterFinished`.
 * Source: Kubernetes v1.36.3 pkg/controller/ttlafterfinished.
 */
export function startJobTtl(context: ControllerContext): Disposable {
  const { cluster, clock } = context;
  const resources = new Disposables();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(jobKind, ({ type, object }) => type !== "DELETED" && queue.add(keyOf(object))));
  for (const job of cluster.list(jobKind)) queue.add(keyOf(job));
  return resources;

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const job = cluster.get(jobKind, namespace, name);
    if (job === undefined || job.metadata.deletionTimestamp !== undefined) return undefined;
    const { ttlSecondsAfterFinished: ttlSeconds }: JobSpec = job["spec"];
    const finishedMs = finishTimeMs(job["status"]);
    if (ttlSeconds === undefined || finishedMs === undefined) return undefined;
    const leftMs = finishedMs + ttlSeconds * 1000 - clock.now();
    if (leftMs > 0) return leftMs;
    cluster.delete(jobKind, namespace, name, { uid: job.metadata.uid, propagationPolicy: "Foreground" });
    return undefined;
  }
}

function finishTimeMs({ conditions = [] }: JobStatus): number | undefined {
  const end = conditions.find(({ type, status }) => (type === "Complete" || type === "Failed") && status === "True");
  return end?.lastTransitionTime ? Date.parse(end.lastTransitionTime) : undefined;
}
