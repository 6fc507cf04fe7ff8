import { selectsLabels } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { selectsEverything } from "../../selectors/label-selector-text.ts";
import { deploymentKind } from "../../kinds/workload/deployment.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import type { DeploymentSpec } from "../../kinds/workload/workload-fields.ts";
import { claimObjects } from "../shared/claim-objects.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { isScalingEvent, planRecreate, planRollingUpdate, planScale, type Sets } from "./deployment-plan.ts";
import { createdMs, sizesOf, type Rollout } from "./deployment-rollout.ts";
import { isComplete } from "./deployment-status.ts";
import { DeploymentWrites } from "./deployment-writes.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerOf } from "../shared/ownership.ts";
import { isTerminal } from "../shared/pod-state.ts";
import { isSameTemplate } from "../shared/template-hash.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

const orphansOf = (namespace: string | undefined): string => `orphans/${namespace ?? ""}`;

/**
 * Rolls out Deployments by scaling ReplicaSets. Each sync takes one step; the write triggers the next sync.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/deployment.
 */
export function startDeploymentController(context: ControllerContext): Disposable {
  const { cluster } = context;
  const writes = new DeploymentWrites(context);
  const resources = new Disposables();
  const sets = resources.use(
    new ObjectIndex(cluster, replicaSetKind, (set) => [controllerOf(set)?.uid ?? orphansOf(set.metadata.namespace)]),
  );
  const pods = resources.use(new ObjectIndex(cluster, podKind, (pod) => [controllerOf(pod)?.uid ?? "orphans"]));
  const deployments = resources.use(new ObjectIndex(cluster, deploymentKind, ({ metadata }) => [metadata.uid, `in/${metadata.namespace}`]));
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(deploymentKind, ({ type, object }) => type !== "DELETED" && queue.add(keyOf(object))));
  resources.use(cluster.watch(replicaSetKind, ({ object }) => wake(object)));
  resources.use(cluster.watch(podKind, ({ type, object }) => wakeForPod(type, object)));
  for (const deployment of cluster.list(deploymentKind)) queue.add(keyOf(deployment));
  return resources;

  function wake(set: Readonly<ApiObject>): void {
    const owner = controllerOf(set);
    const candidates = owner === undefined ? deployments.get(`in/${set.metadata.namespace}`) : deployments.get(owner.uid);
    for (const deployment of candidates)
      if (owner !== undefined || selectsLabels(deployment["spec"].selector, set.metadata.labels)) queue.add(keyOf(deployment));
  }

  /** Syncs a Deployment of type Recreate when its last old pod is gone. */
  function wakeForPod(type: string, pod: Readonly<ApiObject>): void {
    if (type !== "DELETED" && !isTerminal(pod)) return;
    const owner = controllerOf(pod);
    const set = owner === undefined ? undefined : cluster.get(replicaSetKind, pod.metadata.namespace, owner.name);
    if (set !== undefined) wake(set);
  }

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const deployment = cluster.get(deploymentKind, namespace, name);
    if (deployment === undefined) return undefined;
    const spec: DeploymentSpec = deployment["spec"];
    if (selectsEverything(spec.selector)) {
      writes.reportSelectsEverything(deployment);
      return undefined;
    }
    const owned = claim(deployment).toSorted((a, b) => createdMs(a) - createdMs(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
    const current = owned.find((set) => isSameTemplate(set["spec"].template, spec.template));
    const rollout: Rollout = { deployment, spec, current, old: owned.filter((set) => set !== current) };
    return step(rollout);
  }

  function step(rollout: Rollout): number | undefined {
    const { deployment, spec } = rollout;
    if (deployment.metadata.deletionTimestamp !== undefined) return writes.writeStatus(rollout, false);
    if (writes.notePause(deployment, spec) || writes.noteRevision(rollout)) return 0;
    const sizes = sizesOf(rollout);
    if (spec.paused === true || isScalingEvent(spec, sizes)) {
      writes.resize(rollout, planScale(spec, sizes, deployment["status"].replicas ?? 0), true);
      if (spec.paused === true) writes.cleanUp(rollout);
      return writes.writeStatus(fresh(rollout), false);
    }
    if (spec.strategy.type === "Recreate") return stepRecreate(rollout, sizes);
    if (sizes.current === undefined) return writes.create(rollout);
    const isResized = writes.resize(rollout, planRollingUpdate(spec, sizes.current, sizes.old), false);
    if (!isResized && isComplete(deployment, deployment["status"])) writes.cleanUp(rollout);
    return writes.writeStatus(fresh(rollout), true);
  }

  function stepRecreate(rollout: Rollout, sizes: Sets): number | undefined {
    const { deployment, spec } = rollout;
    if (writes.resize(rollout, planRecreate(sizes.old), false) || hasOldPods(rollout)) return writes.writeStatus(fresh(rollout), true);
    if (sizes.current === undefined) return writes.create(rollout);
    writes.resize(rollout, new Map([[sizes.current.name, spec.replicas ?? 1]]), false);
    if (isComplete(deployment, deployment["status"])) writes.cleanUp(rollout);
    return writes.writeStatus(fresh(rollout), true);
  }

  function claim(deployment: Readonly<ApiObject>): Readonly<ApiObject>[] {
    return claimObjects(cluster, {
      owner: deployment,
      ownerKind: deploymentKind,
      kind: replicaSetKind,
      owned: sets.get(deployment.metadata.uid),
      orphans: sets.get(orphansOf(deployment.metadata.namespace)),
      canChange: (set) => set.metadata.deletionTimestamp === undefined,
    });
  }

  function hasOldPods({ old }: Rollout): boolean {
    return old.some((set) => set["status"].replicas > 0 || pods.get(set.metadata.uid).some((pod) => !isTerminal(pod)));
  }

  /** Reads the objects again after this sync's writes. */
  function fresh(rollout: Rollout): Rollout {
    const again = (kind: typeof deploymentKind, object: Readonly<ApiObject>): Readonly<ApiObject> =>
      cluster.get(kind, object.metadata.namespace, object.metadata.name) ?? object;
    const { deployment, current, old } = rollout;
    return {
      ...rollout,
      deployment: again(deploymentKind, deployment),
      current: current === undefined ? undefined : again(replicaSetKind, current),
      old: old.map((set) => again(replicaSetKind, set)),
    };
  }
}
