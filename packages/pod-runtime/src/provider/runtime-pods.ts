import type { Owner, PodRef } from "@virtual-kubelet/core";
import type { RuntimeContainer, RuntimeInventory, RuntimeSandbox } from "../runtime/container-runtime.ts";
import { labelNames, tryPodRef } from "../runtime/labels.ts";

/** A pod's objects at the runtime. */
export interface RuntimePod {
  readonly ref: PodRef;
  /** The owner in their labels. */
  readonly owner: Owner;
  /** Creation of its first remaining sandbox, in wall-clock milliseconds since the epoch. */
  readonly createdAtMs: number | undefined;
  readonly inventory: RuntimeInventory;
}

/** Groups a runtime's objects by pod UID. Objects without a pod's labels are left out. */
export function groupByPod({ sandboxes, containers }: RuntimeInventory): ReadonlyMap<string, RuntimePod> {
  const groups = new Map<string, { sandboxes: RuntimeSandbox[]; containers: RuntimeContainer[] }>();
  const groupOf = ({ labels }: RuntimeSandbox | RuntimeContainer): { sandboxes: RuntimeSandbox[]; containers: RuntimeContainer[] } => {
    const uid = labels[labelNames.podUid] ?? "";
    const group = groups.get(uid) ?? { sandboxes: [], containers: [] };
    groups.set(uid, group);
    return group;
  };
  for (const sandbox of sandboxes) groupOf(sandbox).sandboxes.push(sandbox);
  for (const container of containers) groupOf(container).containers.push(container);
  return new Map([...groups].flatMap(([uid, inventory]) => describe(inventory).map((pod): [string, RuntimePod] => [uid, pod])));
}

function describe(inventory: RuntimeInventory): readonly RuntimePod[] {
  const labels = (inventory.sandboxes[0] ?? inventory.containers[0])?.labels ?? {};
  const ref = tryPodRef(labels);
  if (!ref) return [];
  const made = inventory.sandboxes.map(({ createdAtMs }) => createdAtMs);
  return [
    {
      ref,
      owner: { clusterId: labels[labelNames.cluster] ?? "", nodeName: labels[labelNames.node] ?? "" },
      createdAtMs: made.length === 0 ? undefined : Math.min(...made),
      inventory,
    },
  ];
}
