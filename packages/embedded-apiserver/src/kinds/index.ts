import type { Kind } from "./kind.ts";
import { cronJobKind } from "./batch/cron-job.ts";
import { jobKind } from "./batch/job.ts";
import { certificateSigningRequestKind } from "./certificates/certificate-signing-request.ts";
import { configMapKind } from "./config/config-map.ts";
import { customResourceDefinitionKind } from "../custom-resources/crd-kind.ts";
import { eventKind } from "./event/event.ts";
import { modernEventKind } from "./event/events-group.ts";
import { leaseKind } from "./lease.ts";
import { namespaceKind } from "./namespace.ts";
import { nodeKind } from "./node/node.ts";
import { plainKinds } from "./plain/plain-kinds.ts";
import { podKind } from "./pod/pod.ts";
import { podDisruptionBudgetKind } from "./policy/disruption-budget.ts";
import { clusterRoleBindingKind, roleBindingKind } from "./rbac/role-binding.ts";
import { clusterRoleKind, roleKind } from "./rbac/role.ts";
import { secretKind } from "./config/secret.ts";
import { serviceAccountKind } from "./service-account.ts";
import { serviceKind } from "./service/service.ts";
import { controllerRevisionKind } from "./workload/controller-revision.ts";
import { daemonSetKind } from "./workload/daemon-set.ts";
import { deploymentKind } from "./workload/deployment.ts";
import { podTemplateKind } from "./workload/pod-template.ts";
import { replicaSetKind } from "./workload/replica-set.ts";
import { replicationControllerKind } from "./workload/replication-controller.ts";
import { statefulSetKind } from "./workload/stateful-set.ts";
import { persistentVolumeClaimKind } from "./volume/persistent-volume-claim.ts";
import { persistentVolumeKind } from "./volume/persistent-volume.ts";
import { storageClassKind } from "./volume/storage-class.ts";

/** Every kind the server keeps. */
export const kinds: readonly Kind[] = [
  configMapKind,
  eventKind,
  namespaceKind,
  nodeKind,
  podKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  controllerRevisionKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  podDisruptionBudgetKind,
  storageClassKind,
  podTemplateKind,
  replicationControllerKind,
  cronJobKind,
  jobKind,
  leaseKind,
  modernEventKind,
  certificateSigningRequestKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  ...plainKinds,
  customResourceDefinitionKind,
];

/** The kind behind a part of a URL, such as `apps`, `v1`, `deployments`; `undefined` if there is none. */
export function kindFor(group: string, version: string, plural: string): Kind | undefined {
  return kinds.find((kind) => kind.group === group && kind.version === version && kind.plural === plural);
}
