import type { Column } from "../kind.ts";
import { ageColumn, nameColumn, templateColumns } from "../columns/columns.ts";
import { formatLabels, formatLabelSelector } from "../../selectors/label-selector-text.ts";
import type { DaemonSetSpec, DaemonSetStatus } from "./workload-fields.ts";

function count(
  name: string,
  field: keyof DaemonSetStatus & `${string}${"Scheduled" | "Ready" | "Available"}`,
  description: string,
): Column {
  return { name, type: "integer", description, cell: (daemonSet) => (daemonSet["status"] as DaemonSetStatus)[field] ?? 0 };
}

/** Source: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, printDaemonSet. */
export const daemonSetColumns: readonly Column[] = [
  nameColumn,
  count(
    "Desired",
    "desiredNumberScheduled",
    "The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon pod). More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/",
  ),
  count(
    "Current",
    "currentNumberScheduled",
    "The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/",
  ),
  count(
    "Ready",
    "numberReady",
    "numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod running with a Ready Condition.",
  ),
  count("Up-to-date", "updatedNumberScheduled", "The total number of nodes that are running updated daemon pod"),
  count(
    "Available",
    "numberAvailable",
    "The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and available (ready for at least spec.minReadySeconds)",
  ),
  {
    name: "Node Selector",
    type: "string",
    description:
      "NodeSelector is a selector which must be true for the pod to fit on a node. Selector which must match a node's labels for the pod to be scheduled on that node. More info: https://kubernetes.io/docs/concepts/configuration/assign-pod-node/",
    cell: (daemonSet) => formatLabels((daemonSet["spec"] as DaemonSetSpec).template.spec.nodeSelector),
  },
  ageColumn,
  ...templateColumns,
  {
    name: "Selector",
    type: "string",
    description:
      "A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
    wide: true,
    cell: (daemonSet) => formatLabelSelector(daemonSet["spec"].selector) || "<none>",
  },
];
