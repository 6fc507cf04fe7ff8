import {
  compareQuantities,
  formatQuantity,
  formatResources,
  readResources,
  type Quantity,
  type ResourceQuantities,
} from "@virtual-kubelet/kubernetes";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import type { Quantities, ResourceQuotaSpec, ScopeRequirement } from "../../kinds/plain/validate-quotas.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { addUsage, countsResource, isInScope, missingRequests, usageOf } from "./usage.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/resourcequota/controller.go, `CheckRequest`. */

/** An object that is about to be stored. */
export interface QuotaRequest {
  readonly kind: Kind;
  readonly object: Readonly<ApiObject>;
  /** Stored object; `undefined` for a new one. */
  readonly old: Readonly<ApiObject> | undefined;
  /** A status update is counted, but not refused. */
  readonly isStatus: boolean;
  readonly nowMs: number;
}

/** Result for one quota: the new `status.used`, `undefined` if it does not change, or why the request is refused. */
export type QuotaDecision = { readonly used: Readonly<Record<string, string>> | undefined } | { readonly problem: string };

/** Scopes of a quota; an object must be in all of them. */
export function scopesOf({ scopes = [], scopeSelector }: ResourceQuotaSpec): readonly ScopeRequirement[] {
  return [...scopes.map((scopeName) => ({ scopeName, operator: "Exists" })), ...(scopeSelector?.matchExpressions ?? [])];
}

/** Whether a quota counts objects of the kind, and is about this one. */
function matches(quota: Readonly<ApiObject>, kind: Kind, object: Readonly<ApiObject>): boolean {
  const hard: Quantities = quota["status"]?.hard ?? {};
  return (
    Object.keys(hard).some((resource) => countsResource(kind, resource)) &&
    scopesOf(quota["spec"]).every((requirement) => isInScope(kind, object, requirement))
  );
}

/** Decides whether a request fits into one quota of its namespace. */
export function checkQuota(quota: Readonly<ApiObject>, request: QuotaRequest): QuotaDecision {
  const { kind, object, old, isStatus, nowMs } = request;
  if (!matches(quota, kind, object)) return { used: undefined };
  const { name } = quota.metadata;
  const hard: Quantities = quota["status"].hard;
  const used: Quantities = quota["status"].used ?? {};
  const resources = Object.keys(hard).filter((resource) => countsResource(kind, resource));
  const missing = kind === podKind ? missingRequests(object["spec"], resources) : undefined;
  if (missing !== undefined) return { problem: `failed quota: ${name}: ${missing}` };
  if (resources.some((resource) => used[resource] === undefined))
    return { problem: `status unknown for quota: ${name}, resources: ${resources.toSorted().join(",")}` };
  const usage = usageOf(kind, object, nowMs);
  const negative = [...usage].filter(([, { nano }]) => nano < 0n).map(([resource]) => resource);
  if (negative.length > 0) return { problem: `quota usage is negative for resource(s): ${negative.toSorted().join(",")}` };
  const counted = old !== undefined && matches(quota, kind, old) ? increase(usage, usageOf(kind, old, nowMs)) : usage;
  const requested = new Map([...counted].filter(([resource, { nano }]) => hard[resource] !== undefined && nano !== 0n));
  if (requested.size === 0) return { used: undefined };
  const now = addUsage(readResources(used), requested);
  const limits = readResources(hard);
  const exceeded = [...requested.keys()].filter((resource) => isAbove(now.get(resource), limits.get(resource))).toSorted();
  if (exceeded.length === 0 || isStatus) return { used: formatResources(now) };
  const shown = (amounts: ResourceQuantities): string =>
    exceeded.map((resource) => `${resource}=${amountText(amounts.get(resource))}`).join(",");
  return {
    problem: `exceeded quota: ${name}, requested: ${shown(requested)}, used: ${shown(readResources(used))}, limited: ${shown(limits)}`,
  };
}

function isAbove(amount: Quantity | undefined, limit: Quantity | undefined): boolean {
  return amount !== undefined && limit !== undefined && compareQuantities(amount, limit) > 0;
}

function amountText(amount: Quantity | undefined): string {
  return amount === undefined ? "0" : formatQuantity(amount);
}

/** What an update adds; a smaller amount counts as unchanged until usage is recalculated. */
function increase(now: ResourceQuantities, before: ResourceQuantities): ResourceQuantities {
  return new Map(
    [...now].map(([resource, { nano, format }]) => {
      const added = nano - (before.get(resource)?.nano ?? 0n);
      return [resource, { nano: added > 0n ? added : 0n, format }];
    }),
  );
}
