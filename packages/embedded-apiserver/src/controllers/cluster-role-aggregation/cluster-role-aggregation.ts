import { type LabelSelector, selectsLabels } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import { equalJson } from "../../json/json-value.ts";
import type { PolicyRule } from "../../kinds/rbac/rbac-fields.ts";
import { clusterRoleKind } from "../../kinds/rbac/role.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { createWorkQueue } from "../shared/work-queue.ts";

/**
 * Gives each cluster role that has an `aggregationRule` the rules of the roles it selects.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/clusterroleaggregation.
 */
export function startClusterRoleAggregation(context: ControllerContext): Disposable {
  const { cluster } = context;
  const resources = new Disposables();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  const all = (): void => {
    for (const role of cluster.list(clusterRoleKind)) if (role["aggregationRule"] !== undefined) queue.add(role.metadata.name);
  };
  resources.use(cluster.watch(clusterRoleKind, all));
  all();
  return resources;

  function sync(name: string): void {
    const role = cluster.get(clusterRoleKind, undefined, name);
    const selectors: LabelSelector[] | undefined = role?.["aggregationRule"]?.clusterRoleSelectors;
    if (role === undefined || selectors === undefined) return;
    const rules: PolicyRule[] = [];
    for (const selector of selectors) {
      for (const other of cluster.list(clusterRoleKind)) {
        if (other.metadata.name === name || !selectsLabels(selector, other.metadata.labels)) continue;
        const offered: PolicyRule[] = other["rules"] ?? [];
        for (const rule of offered) if (!rules.some((known) => equalJson(known, rule))) rules.push(rule);
      }
    }
    if (equalJson(rules, role["rules"] ?? [])) return;
    cluster.update(clusterRoleKind, undefined, name, (changed) => ({ ...changed, rules: rules.length === 0 ? null : rules }));
  }
}
