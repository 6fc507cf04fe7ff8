import type { Authorizer } from "../authorization/authorizer.ts";
import { Disposables } from "../resources/disposables.ts";
import type { RestContext } from "../rest/rest-context.ts";
import { startCertificateApprover } from "./certificates/certificate-approver.ts";
import { startCertificateSigner, type Signer } from "./certificates/certificate-signer.ts";
import { startClusterRoleAggregation } from "./cluster-role-aggregation/cluster-role-aggregation.ts";
import type { ControllerContext } from "./shared/controller-context.ts";
import { startCronJobController } from "./cron-job/cron-job-controller.ts";
import { startDaemonSetController } from "./daemon-set/daemon-set-controller.ts";
import { startDeploymentController } from "./deployment/deployment-controller.ts";
import { startDisruptionController } from "./disruption/disruption-controller.ts";
import { startEndpointMirroring } from "./endpoints/endpoint-mirroring.ts";
import { startEndpointsController } from "./endpoints/endpoints-controller.ts";
import { startEphemeralVolumes } from "./ephemeral-volume/ephemeral-volume.ts";
import { startEventExpiry } from "./event-expiry/event-expiry.ts";
import { createEventRecorder } from "./shared/event-recorder.ts";
import { startGarbageCollector } from "./garbage-collector/garbage-collector.ts";
import { startHorizontalPodAutoscaler } from "./horizontal-pod-autoscaler/horizontal-pod-autoscaler-controller.ts";
import type { MetricsRequest } from "./horizontal-pod-autoscaler/metrics-client.ts";
import { startJobController } from "./job/job-controller.ts";
import { startJobTtl } from "./job/job-ttl.ts";
import { runNamespaceDeletion } from "./namespace/namespace-deletion.ts";
import { startNodeLifecycleController } from "./node-lifecycle/node-lifecycle-controller.ts";
import { startNodeTtl } from "./node-ttl/node-ttl.ts";
import { startPodGarbageCollector } from "./pod-garbage-collector/pod-garbage-collector.ts";
import { startPolicyStatusController } from "./policy-status/policy-status-controller.ts";
import { startReplicaSetController, startReplicationController } from "./replica-set/replica-set-controller.ts";
import { startResourceQuotaController } from "./resource-quota/resource-quota-controller.ts";
import { startScheduler } from "./scheduler/scheduler.ts";
import { startStatefulSetController } from "./stateful-set/stateful-set-controller.ts";
import { startTaintEviction } from "./taint-eviction/taint-eviction.ts";
import { startVolumeBinder } from "./volume-binder/volume-binder.ts";
import { startVolumeProtection } from "./volume-protection/volume-protection.ts";

/** Options of {@link startControllers}. */
export interface ControllersOptions {
  /** Decides whether a node may have the certificate it requests. */
  readonly authorizer: Authorizer;
  readonly signer: Signer;
  /** GET request of the server itself, for the metrics APIs. */
  readonly request: MetricsRequest;
  /** Called with errors of controllers; the failed work is retried. Default: errors are ignored. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Starts the controllers that kube-controller-manager and kube-scheduler run for the server's kinds: workloads, volumes, disruption
 * budgets, scheduling, garbage collection, node lifecycle, taint eviction, event expiry, role aggregation, type checking of admission
 * policies, and certificate approval and signing. They react to changes only and are idle in between.
 *
 * @returns a handle that stops the controllers
 */
export function startControllers(
  rest: RestContext,
  { authorizer, signer, request, onError = () => undefined }: ControllersOptions,
): Disposable {
  const { cluster, clock, random } = rest;
  const context: ControllerContext = { cluster, clock, random, onError, events: createEventRecorder({ cluster, clock }) };
  const resources = new Disposables();
  resources.use(runNamespaceDeletion({ context: rest, cluster, onError }));
  resources.use(startGarbageCollector(context));
  resources.use(startReplicaSetController(context));
  resources.use(startReplicationController(context));
  resources.use(startDeploymentController(context));
  resources.use(startDaemonSetController(context));
  resources.use(startStatefulSetController(context));
  resources.use(startJobController(context));
  resources.use(startJobTtl(context));
  resources.use(startCronJobController(context));
  resources.use(startDisruptionController(context));
  resources.use(startEndpointsController(context));
  resources.use(startEndpointMirroring(context));
  resources.use(startHorizontalPodAutoscaler(context, request));
  resources.use(startVolumeBinder(context));
  resources.use(startVolumeProtection(context));
  resources.use(startEphemeralVolumes(context));
  resources.use(startNodeLifecycleController(context));
  resources.use(startNodeTtl(context));
  resources.use(startTaintEviction(context));
  resources.use(startPodGarbageCollector(context));
  resources.use(startResourceQuotaController(context));
  resources.use(startPolicyStatusController(context));
  resources.use(startScheduler(context));
  resources.use(startEventExpiry(context));
  resources.use(startClusterRoleAggregation(context));
  resources.use(startCertificateApprover(context, authorizer));
  resources.use(startCertificateSigner(context, signer));
  return resources;
}
