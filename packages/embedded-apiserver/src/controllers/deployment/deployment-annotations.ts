/** Number of the rollout a ReplicaSet belongs to. */
export const revisionAnnotation = "deployment.kubernetes.io/revision";
/** Earlier numbers, of a ReplicaSet that was rolled back to. */
const revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history";
const desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas";
const maxReplicasAnnotation = "deployment.kubernetes.io/max-replicas";

/** Annotations of the Deployment that its ReplicaSets do not get. */
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

/** The rollout's number; 0 if the annotation is absent or no number. */
export function revisionOf(annotations: Annotations = {}): number {
  const revision = Number(annotations[revisionAnnotation] ?? 0);
  return Number.isInteger(revision) ? revision : 0;
}

/** The replicas the Deployment wanted when this ReplicaSet was last scaled. */
export function desiredReplicasOf(annotations: Annotations = {}): number | undefined {
  return countOf(annotations[desiredReplicasAnnotation]);
}

/** The most replicas the Deployment could have, surge included, when this ReplicaSet was last scaled. */
export function maxReplicasOf(annotations: Annotations = {}): number | undefined {
  return countOf(annotations[maxReplicasAnnotation]);
}

function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Notes what the Deployment wants now. */
export function replicasAnnotations(desired: number, most: number): Annotations {
  return { [desiredReplicasAnnotation]: String(desired), [maxReplicasAnnotation]: String(most) };
}

/**
 * The annotations of the current ReplicaSet: the Deployment's, and the rollout's number if that is higher than before.
 * Source: Kubernetes v1.36.3 pkg/controller/deployment/util/deployment_util.go, SetNewReplicaSetAnnotations.
 */
export function newSetAnnotations(
  deployment: Annotations | undefined = {},
  current: Annotations | undefined = {},
  revision: number,
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
