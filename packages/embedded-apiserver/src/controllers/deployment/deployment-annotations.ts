/** Revision of the rollout that a ReplicaSet belongs to. */
export const revisionAnnotation = "deployment.kubernetes.io/revision";
/** Earlier revisions of a ReplicaSet that was rolled back to. */
const revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history";
const desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas";
const maxReplicasAnnotation = "deployment.kubernetes.io/max-replicas";

/** Annotations that are not copied from a Deployment to its ReplicaSets. */
const notCopied: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredReplicasAnnotation,
  maxReplicasAnnotation,
  "deprecated.deployment.rollback.to",
]);

/** Source: Kubernetes v1.36.3 pkg/controller/deployment/sync.go, `maxRevHistoryLengthInChars`. */
const historyLimitCharacters = 2000;

type Annotations = Readonly<Record<string, string>>;

/** Revision number of 64 bits; 0 if the annotation is absent or not such a number. */
export function revisionOf(annotations: Annotations = {}): bigint {
  const text = annotations[revisionAnnotation] ?? "";
  const revision = /^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : 0n;
  return BigInt.asIntN(64, revision) === revision ? revision : 0n;
}

/** Replicas of the Deployment when this ReplicaSet was last scaled. */
export function desiredReplicasOf(annotations: Annotations = {}): number | undefined {
  return countOf(annotations[desiredReplicasAnnotation]);
}

/** Maximum replicas of the Deployment, including surge, when this ReplicaSet was last scaled. */
export function maxReplicasOf(annotations: Annotations = {}): number | undefined {
  return countOf(annotations[maxReplicasAnnotation]);
}

function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Annotations that record the Deployment's current replicas and maximum. */
export function replicasAnnotations(desired: number, most: number): Annotations {
  return { [desiredReplicasAnnotation]: String(desired), [maxReplicasAnnotation]: String(most) };
}

/**
 * Annotations of the current ReplicaSet: the Deployment's annotations, and the rollout's revision unless the ReplicaSet's own is higher.
 * Source: Kubernetes v1.36.3 pkg/controller/deployment/util/deployment_util.go, SetNewReplicaSetAnnotations.
 */
export function newSetAnnotations(
  deployment: Annotations | undefined = {},
  current: Annotations | undefined = {},
  revision: bigint,
): Annotations {
  const copied = Object.fromEntries(Object.entries(deployment).filter(([key]) => !notCopied.has(key)));
  const annotations = { ...current, ...copied };
  const before = revisionOf(current);
  if (before >= revision) return annotations;
  annotations[revisionAnnotation] = String(revision);
  if (current[revisionAnnotation] !== undefined)
    annotations[revisionHistoryAnnotation] = extendHistory(current[revisionHistoryAnnotation], current[revisionAnnotation]);
  return annotations;
}

function extendHistory(history: string | undefined, revision: string): string {
  const revisions = [...(history ? history.split(",") : []), revision];
  while (revisions.length > 1 && revisions.join(",").length > historyLimitCharacters) revisions.shift();
  return revisions.join(",");
}
