import { horizontalPodAutoscalerKind } from "../../kinds/plain/autoscaling.ts";
import { Disposables } from "../../resources/disposables.ts";
import { runSteps } from "../../rest/steps.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { AutoscalerReconciler } from "./autoscaler-reconciler.ts";
import type { MetricsRequest } from "./metrics-client.ts";

/** Default of `--horizontal-pod-autoscaler-sync-period`: also the first computation waits for it. */
const syncMs = 15_000;

/**
 * Scales objects to what their autoscalers' metrics demand, every 15 seconds. It reads the metrics APIs of this server, which may be served
 * by a test. Without autoscalers it does nothing.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/podautoscaler/horizontal.go.
 *
 * @param request - GET request of the server itself
 */
export function startHorizontalPodAutoscaler(context: ControllerContext, request: MetricsRequest): Disposable {
  const { cluster, onError } = context;
  const resources = new Disposables();
  const reconciler = new AutoscalerReconciler(context, request);
  const running = new Set<string>();
  const queue = resources.use(createWorkQueue({ ...context, process }));
  resources.use(
    cluster.watch(horizontalPodAutoscalerKind, ({ type, object }) => {
      if (type !== "DELETED") queue.addAfter(keyOf(object), syncMs);
      else reconciler.forget(keyOf(object));
    }),
  );
  for (const autoscaler of cluster.list(horizontalPodAutoscalerKind)) queue.addAfter(keyOf(autoscaler), syncMs);
  return resources;

  function process(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const autoscaler = cluster.get(horizontalPodAutoscalerKind, namespace, name);
    if (autoscaler === undefined) return undefined;
    if (running.has(key)) return syncMs;
    running.add(key);
    try {
      const answer = runSteps(reconciler.reconcile(key, autoscaler));
      if (answer instanceof Promise) answer.catch(onError).finally(() => running.delete(key));
      else running.delete(key);
    } catch (error) {
      running.delete(key);
      onError(error);
    }
    return syncMs;
  }
}
