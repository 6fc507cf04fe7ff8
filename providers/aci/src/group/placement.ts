import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ContainerGroupBody, GroupProperties } from "../azure/container-group.ts";
import { annotationOf, annotationPath, annotations, listOf } from "./annotations.ts";

/** Kind and place of a pod's group. */
export interface Placement {
  readonly resourceGroup: string;
  /** Resource id. */
  readonly subnetId: string | undefined;
  readonly zones: ContainerGroupBody["zones"];
  readonly properties: Pick<
    GroupProperties,
    "sku" | "priority" | "confidentialComputeProperties" | "standbyPoolProfile" | "containerGroupProfile"
  >;
}

const skus = ["Standard", "Dedicated", "Confidential"] as const;
const priorities = ["Regular", "Spot"] as const;

/**
 * Reads the annotations by which a pod chooses kind and place of its group.
 *
 * @throws InvalidInputError with the annotation and the expected values
 */
export function placementOf(
  pod: DeepReadonly<Pod>,
  defaults: {
    readonly resourceGroups: readonly [string, ...string[]];
    readonly subnetId: string | undefined;
    readonly zones: readonly string[];
  },
): Placement {
  const [first] = defaults.resourceGroups;
  const ccePolicy = annotationOf(pod, annotations.ccePolicy);
  const sku = choice(pod, annotations.sku, skus) ?? (ccePolicy === undefined ? choice(pod, annotations.originalSku, skus) : "Confidential");
  if (ccePolicy !== undefined && sku !== "Confidential")
    throw new InvalidInputError(`${annotationPath(annotations.ccePolicy)}: only groups of SKU Confidential have a policy`);
  const standbyPool = resourceIdOf(pod, annotations.standbyPool);
  const profile = annotationOf(pod, annotations.profile);
  const zones = listOf(pod, annotations.zones);
  const own = zones.length > 0 ? zones : defaults.zones;
  return {
    resourceGroup: choice(pod, annotations.resourceGroup, defaults.resourceGroups) ?? first,
    subnetId: resourceIdOf(pod, annotations.subnetId) ?? defaults.subnetId,
    zones: own.length > 0 ? own : undefined,
    properties: {
      ...(sku !== undefined && { sku }),
      ...optional("priority", choice(pod, annotations.priority, priorities)),
      ...(ccePolicy !== undefined && { confidentialComputeProperties: { ccePolicy } }),
      ...(standbyPool !== undefined && { standbyPoolProfile: { id: standbyPool } }),
      ...(profile !== undefined && { containerGroupProfile: profileOf(profile) }),
    },
  };
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { readonly [Name in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [Name in Key]?: Value });
}

/** Reads one of several values, in any case. */
function choice<Value extends string>(pod: DeepReadonly<Pod>, name: string, values: readonly Value[]): Value | undefined {
  const text = annotationOf(pod, name);
  if (text === undefined) return undefined;
  const found = values.find((value) => value.toLowerCase() === text.toLowerCase());
  if (found !== undefined) return found;
  throw new InvalidInputError(`${annotationPath(name)}: "${text}": expected ${values.join(", ")}`);
}

function resourceIdOf(pod: DeepReadonly<Pod>, name: string): string | undefined {
  const id = annotationOf(pod, name);
  if (id === undefined || /^\/subscriptions\/[^/\s]+\/resourceGroups\/[^/\s]+\/providers\/\S+$/i.test(id)) return id;
  throw new InvalidInputError(`${annotationPath(name)}: "${id}": expected a resource id, which begins with /subscriptions/`);
}

function profileOf(text: string): { readonly id: string; readonly revision?: number } {
  const [, id, revision] = /^(\/subscriptions\/[^@\s]+)(?:@(\d{1,9}))?$/.exec(text) ?? [];
  if (id === undefined)
    throw new InvalidInputError(`${annotationPath(annotations.profile)}: "${text}": expected a resource id, and optionally @REVISION`);
  return revision === undefined ? { id } : { id, revision: Number(revision) };
}
