import { Disposables } from "../../resources/disposables.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

const annotation = "node.alpha.kubernetes.io/ttl";
/** Seconds for which kubelets may cache secrets and config maps, by the number of nodes. The ranges overlap, so that the value is steady. */
const steps = [
  { from: 0, to: 100, seconds: 0 },
  { from: 90, to: 500, seconds: 15 },
  { from: 450, to: 1000, seconds: 30 },
  { from: 900, to: 2000, seconds: 60 },
  { from: 1800, to: Infinity, seconds: 300 },
] as const;

/** The next step for a number of nodes. */
export function ttlStep(step: number, nodes: number): number {
  let next = step;
  while (nodes > (steps[next]?.to ?? Infinity)) next++;
  while (nodes < (steps[next]?.from ?? 0)) next--;
  return next;
}

/**
 * Writes into each node for how long its kubelet may cache secrets and config maps.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/ttl/ttl_controller.go. As there, a node gets a new value when it changes for another reason.
 */
export function startNodeTtl(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  let step = ttlStep(0, cluster.count(nodeKind));
  const wanted = (): string => String(steps[step]?.seconds ?? 0);
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(
    cluster.watch(nodeKind, ({ type, object: { metadata } }) => {
      if (type !== "MODIFIED") step = ttlStep(step, cluster.count(nodeKind));
      if (type !== "DELETED" && metadata.annotations?.[annotation] !== wanted()) queue.add(metadata.name);
    }),
  );
  for (const { metadata } of cluster.values(nodeKind)) queue.add(metadata.name);
  return resources;

  function sync(name: string): void {
    cluster.update(nodeKind, undefined, name, (node) => {
      if (node.metadata.annotations?.[annotation] === wanted()) return undefined;
      node.metadata.annotations = { ...node.metadata.annotations, [annotation]: wanted() };
      return node;
    });
  }
}
