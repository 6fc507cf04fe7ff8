import type { ApiObject, Kind } from "../../kinds/kind.ts";

/** A condition of a namespace. */
export interface NamespaceCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

/** Objects of a namespace that could not be deleted at once. */
export interface RemainingContent {
  /** Number of objects by resource and group, such as `configmaps.`. */
  readonly resources: Map<string, number>;
  /** Number of objects by finalizer. */
  readonly finalizers: Map<string, number>;
}

/** Adds the objects of a kind to what remains. */
export function addRemaining({ resources, finalizers }: RemainingContent, kind: Kind, objects: Iterable<Readonly<ApiObject>>): void {
  const resource = `${kind.plural}.${kind.group}`;
  for (const { metadata } of objects) {
    resources.set(resource, (resources.get(resource) ?? 0) + 1);
    for (const finalizer of metadata.finalizers ?? []) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
  }
}

/** What a namespace's deletion met. */
export interface DeletionFindings {
  /** Messages of failed deletions. */
  readonly failures: readonly string[];
  /** `undefined` while only pods are deleted: the real controller does not report them. */
  readonly remaining: RemainingContent | undefined;
}

type Finding = Omit<NamespaceCondition, "lastTransitionTime">;

/**
 * Conditions of a namespace after an attempt to delete its content. A condition keeps its time while its status is the same.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/namespace/deletion/status_condition_utils.go.
 */
export function deletionConditions(
  old: readonly NamespaceCondition[],
  { failures, remaining }: DeletionFindings,
  now: string,
): readonly NamespaceCondition[] {
  const found = [
    ok("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ok("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    failures.length === 0
      ? ok("NamespaceDeletionContentFailure", "ContentDeleted", "All content successfully deleted, may be waiting on finalization")
      : problem(
          "NamespaceDeletionContentFailure",
          "ContentDeletionFailed",
          `Failed to delete all resource types, ${failures.length} remaining: ${failures.toSorted().join(", ")}`,
        ),
    remaining === undefined || remaining.resources.size === 0
      ? ok("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
      : problem("NamespaceContentRemaining", "SomeResourcesRemain", `Some resources are remaining: ${counted(remaining.resources, "has")}`),
    remaining === undefined || remaining.finalizers.size === 0
      ? ok("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
      : problem(
          "NamespaceFinalizersRemaining",
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${counted(remaining.finalizers, "in")}`,
        ),
  ];
  const others = old.filter(({ type }) => !found.some((condition) => condition.type === type));
  return [...others, ...found.map((condition) => dated(condition, old, now))];
}

function dated({ type, status, reason, message }: Finding, old: readonly NamespaceCondition[], now: string): NamespaceCondition {
  const known = old.find((condition) => condition.type === type && condition.status === status);
  return { type, status, lastTransitionTime: known?.lastTransitionTime ?? now, reason, message };
}

function ok(type: string, reason: string, message: string): Finding {
  return { type, status: "False", reason, message };
}

function problem(type: string, reason: string, message: string): Finding {
  return { type, status: "True", reason, message };
}

function counted(counts: ReadonlyMap<string, number>, verb: string): string {
  return [...counts]
    .map(([name, count]) => `${name} ${verb} ${count} resource instances`)
    .toSorted()
    .join(", ");
}
