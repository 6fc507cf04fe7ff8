import type { ApiObject, Column } from "../kind.ts";
import { ageColumn, nameColumn, templateColumns } from "../columns/columns.ts";
import { formatLabelSelector } from "../../selectors/label-selector-text.ts";
import type { DeploymentStatus } from "./workload-fields.ts";

function deploymentStatus(deployment: ApiObject): DeploymentStatus {
  return deployment["status"];
}

/** Source: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, printDeployment. */
export const deploymentColumns: readonly Column[] = [
  nameColumn,
  {
    name: "Ready",
    type: "string",
    description: "Number of the pod with ready state",
    cell: (deployment) => `${deploymentStatus(deployment).readyReplicas ?? 0}/${deployment["spec"].replicas}`,
  },
  {
    name: "Up-to-date",
    type: "string",
    description: "Total number of non-terminating pods targeted by this deployment that have the desired template spec.",
    cell: (deployment) => deploymentStatus(deployment).updatedReplicas ?? 0,
  },
  {
    name: "Available",
    type: "string",
    description: "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment.",
    cell: (deployment) => deploymentStatus(deployment).availableReplicas ?? 0,
  },
  ageColumn,
  ...templateColumns,
  {
    name: "Selector",
    type: "string",
    description:
      "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
    wide: true,
    cell: (deployment) => formatLabelSelector(deployment["spec"].selector),
  },
];

/** Source: the same file, printReplicaSet. */
export const replicaSetColumns: readonly Column[] = [
  nameColumn,
  {
    name: "Desired",
    type: "integer",
    description:
      "Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset",
    cell: (replicaSet) => replicaSet["spec"].replicas,
  },
  {
    name: "Current",
    type: "integer",
    description:
      "Replicas is the most recently observed number of non-terminating pods. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset",
    cell: (replicaSet) => replicaSet["status"].replicas,
  },
  {
    name: "Ready",
    type: "integer",
    description: "The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition.",
    cell: (replicaSet) => replicaSet["status"].readyReplicas ?? 0,
  },
  ageColumn,
  ...templateColumns,
  {
    name: "Selector",
    type: "string",
    description:
      "Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
    wide: true,
    cell: (replicaSet) => formatLabelSelector(replicaSet["spec"].selector) || "<none>",
  },
];
