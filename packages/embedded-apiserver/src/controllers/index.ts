import type { Clock, Random } from "../clock.ts";
import type { Cluster } from "../cluster.ts";
import type { ControllerDeps } from "./controller-deps.ts";
import { startDeploymentController } from "./deployment-controller.ts";
import { startEventExpiry } from "./event-expiry.ts";
import { createEventRecorder } from "./event-recorder.ts";
import { startGarbageCollector } from "./garbage-collector.ts";
import { startJobController } from "./job/job-controller.ts";
import { startJobTtl } from "./job/job-ttl.ts";
import { startNodeLifecycle } from "./node-lifecycle.ts";
import { startPodCollector } from "./pod-collector.ts";
import { startReplicaSetController } from "./replica-set-controller.ts";
import { startScheduler } from "./scheduler.ts";
import { startTaintEviction } from "./taint-eviction.ts";

/** What the controllers get besides the cluster. */
export interface ControllersOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Told of work that failed and is tried again; default: nobody is. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Starts what kube-controller-manager and kube-scheduler do for the server's kinds: Deployments, ReplicaSets, Jobs, a
 * scheduler, garbage collection, the watch over nodes, evictions by taint, and the end of old events. They work on
 * changes only; while nothing changes they do nothing.
 *
 * @returns what stops them
 */
export function startControllers(cluster: Cluster, { clock, random, onError = () => undefined }: ControllersOptions): Disposable {
  const deps: ControllerDeps = { cluster, clock, random, onError, events: createEventRecorder({ cluster, clock }) };
  const resources = new DisposableStack();
  resources.use(startGarbageCollector(deps));
  resources.use(startReplicaSetController(deps));
  resources.use(startDeploymentController(deps));
  resources.use(startJobController(deps));
  resources.use(startJobTtl(deps));
  resources.use(startNodeLifecycle(deps));
  resources.use(startTaintEviction(deps));
  resources.use(startPodCollector(deps));
  resources.use(startScheduler(deps));
  resources.use(startEventExpiry(deps));
  return resources;
}
