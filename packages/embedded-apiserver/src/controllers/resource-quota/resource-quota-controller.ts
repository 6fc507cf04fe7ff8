import { addQuantities, formatResources, type Quantity, type ResourceQuantities } from "@virtual-kubelet/kubernetes";
import { scopesOf } from "../../admission/resource-quota/check-quota.ts";
import { countsResource, isCharged, isInScope, isQuotaKind, usageOf } from "../../admission/resource-quota/usage.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { resourceQuotaKind } from "../../kinds/plain/quotas.ts";
import type { Quantities, ResourceQuotaSpec } from "../../kinds/plain/validate-quotas.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { serviceKind } from "../../kinds/service/service.ts";
import { persistentVolumeClaimKind } from "../../kinds/volume/persistent-volume-claim.ts";
import { Disposables } from "../../resources/disposables.ts";
import type { ClusterEvent } from "../../rest/cluster.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { ObjectIndex } from "../shared/object-index.ts";
import { replaceStatus } from "../shared/status-write.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

/** Interval at which usage is counted again without a change. Source: kube-controller-manager's `--resource-quota-sync-period`. */
const resyncMs = 5 * 60_000;
/** Kinds whose updates can change what they count. Source: Kubernetes v1.36.3 pkg/quota/v1/install/update_filter.go. */
const changing: ReadonlySet<Kind> = new Set([podKind, serviceKind, persistentVolumeClaimKind]);

/**
 * Writes limits and usage into the status of quotas. Admission counts what is added; this controller counts again after deletions and
 * changes. It watches other kinds only while there are quotas.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/resourcequota.
 */
export function startResourceQuotaController(context: ControllerContext): Disposable {
  const { cluster, clock } = context;
  const resources = new Disposables();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  const quotas = resources.use(new ObjectIndex(cluster, resourceQuotaKind, ({ metadata }) => [metadata.namespace ?? ""]));
  const watched = new Map<Kind, Disposable>();
  const amounts = new WeakMap<Readonly<ApiObject>, ResourceQuantities>();
  resources.defer(() => watched.forEach((watch) => watch[Symbol.dispose]()));
  resources.use(
    cluster.watch(resourceQuotaKind, ({ type, object }) => {
      watchKinds();
      if (type !== "DELETED" && (type === "ADDED" || isDirty(object))) queue.add(keyOf(object));
    }),
  );
  resources.use(cluster.watchKinds(watchKinds));
  for (const quota of cluster.list(resourceQuotaKind)) queue.add(keyOf(quota));
  watchKinds();
  return resources;

  /** Watches all kinds that quotas can count, or none if there are no quotas. */
  function watchKinds(): void {
    const wanted = new Set(quotas.values().length === 0 ? [] : cluster.kinds().filter(isQuotaKind));
    for (const [kind, watch] of watched) {
      if (wanted.has(kind)) continue;
      watch[Symbol.dispose]();
      watched.delete(kind);
    }
    for (const kind of wanted)
      if (!watched.has(kind))
        watched.set(
          kind,
          cluster.watch(kind, (event) => replenish(kind, event)),
        );
  }

  function replenish(kind: Kind, { type, object }: ClusterEvent): void {
    if (type === "ADDED" || (type === "MODIFIED" && !changing.has(kind))) return;
    if (type === "MODIFIED" && kind === podKind && isCharged(object, clock.now()) && object.metadata.deletionTimestamp === undefined)
      return;
    for (const quota of quotas.get(object.metadata.namespace ?? "")) queue.add(keyOf(quota));
  }

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const quota = cluster.get(resourceQuotaKind, namespace, name);
    if (quota === undefined) return undefined;
    const hard: Quantities = quota["spec"].hard ?? {};
    const counted = countAll(quota);
    const used = Object.fromEntries(
      Object.keys(hard).flatMap((resource) => {
        const amount = counted[resource] ?? quota["status"].used?.[resource];
        return amount === undefined ? [] : [[resource, amount]];
      }),
    );
    replaceStatus(cluster, resourceQuotaKind, quota, Object.keys(hard).length === 0 ? {} : { hard, used });
    return resyncMs;
  }

  /** What an object counts. It is computed once per state of the object, because every deletion counts the whole namespace again. */
  function amountsOf(kind: Kind, object: Readonly<ApiObject>): ResourceQuantities {
    const known = amounts.get(object);
    if (known !== undefined) return known;
    const usage = usageOf(kind, object, clock.now());
    // What a deleted pod counts depends on the time.
    if (object.metadata.deletionTimestamp === undefined) amounts.set(object, usage);
    return usage;
  }

  /** Usage of the resources that some kind counts. */
  function countAll(quota: Readonly<ApiObject>): Readonly<Record<string, string>> {
    const spec: ResourceQuotaSpec = quota["spec"];
    const scopes = scopesOf(spec);
    const hard = Object.keys(spec.hard ?? {});
    const total = new Map<string, Quantity>();
    const add = (resource: string, amount: Quantity): void => {
      const known = total.get(resource);
      total.set(resource, known === undefined ? amount : addQuantities(known, amount));
    };
    for (const kind of new Set(cluster.kinds().filter(isQuotaKind))) {
      const resourceNames = new Set(hard.filter((resource) => countsResource(kind, resource)));
      if (resourceNames.size === 0) continue;
      for (const resource of resourceNames) add(resource, { nano: 0n, format: "DecimalSI" });
      for (const object of cluster.list(kind, quota.metadata.namespace)) {
        if (!scopes.every((requirement) => isInScope(kind, object, requirement))) continue;
        for (const [resource, amount] of amountsOf(kind, object)) if (resourceNames.has(resource)) add(resource, amount);
      }
    }
    return formatResources(total);
  }
}

/** Whether the status does not have the limits of the spec yet. */
function isDirty({ spec, status }: Readonly<ApiObject>): boolean {
  const [wanted, written]: [Quantities, Quantities] = [spec.hard ?? {}, status.hard ?? {}];
  const names = Object.keys(wanted);
  return names.length !== Object.keys(written).length || names.some((name) => wanted[name] !== written[name]);
}
