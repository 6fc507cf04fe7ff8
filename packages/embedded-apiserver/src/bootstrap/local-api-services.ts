import type { Clock } from "@virtual-kubelet/clock";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { createWorkQueue } from "../controllers/shared/work-queue.ts";
import type { Kind } from "../kinds/kind.ts";
import { apiServiceKind } from "../kinds/plain/api-service.ts";
import { Disposables } from "../resources/disposables.ts";
import type { Cluster } from "../rest/cluster.ts";

const managedLabel = "kube-aggregator.kubernetes.io/automanaged";

/**
 * Keeps an API service for each version of custom resources.
 *
 * Source: Kubernetes v1.36.3 pkg/controlplane/controller/crdregistration, and pkg/controllers/autoregister of kube-aggregator v0.36.3.
 */
export function registerCustomVersions(cluster: Cluster, clock: Clock): Disposable {
  const resources = new Disposables();
  const queue = resources.use(createWorkQueue({ clock, onError: () => undefined, process: sync }));
  // In a turn of its own, because a changed definition removes its kinds and adds them again.
  resources.use(cluster.watchKinds(({ kind }) => kind.custom !== undefined && queue.add(`${kind.version}.${kind.group}`)));
  resources.use(
    cluster.watch(apiServiceKind, ({ type, object: { metadata } }) => {
      if (type === "DELETED" && metadata.labels?.[managedLabel] === "true") queue.add(metadata.name);
    }),
  );
  return resources;

  function sync(name: string): void {
    const custom = cluster.kinds().find((kind) => kind.custom !== undefined && `${kind.version}.${kind.group}` === name);
    const current = cluster.get(apiServiceKind, undefined, name);
    if (custom !== undefined) {
      if (current === undefined) register(name, custom);
    } else if (current?.metadata.labels?.[managedLabel] === "true") cluster.delete(apiServiceKind, undefined, name);
  }

  function register(name: string, { group, version }: Kind): void {
    cluster.create(apiServiceKind, {
      metadata: { name, labels: { [managedLabel]: "true" } },
      spec: { group, version, groupPriorityMinimum: 1000, versionPriority: 100 },
    });
    const condition = {
      type: "Available",
      status: "True",
      lastTransitionTime: rfc3339(clock.now()),
      reason: "Local",
      message: "Local APIServices are always available",
    };
    cluster.update(apiServiceKind, undefined, name, (service) => ({ ...service, status: { conditions: [condition] } }), "status");
  }
}
