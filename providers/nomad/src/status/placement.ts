import type { Evaluation, PlacementMetric } from "../api/types.ts";

/** Explains why Nomad cannot place a job; `undefined` if the evaluation does not report that. */
export function unplacedBecause({ Status, FailedTGAllocs }: Evaluation): string | undefined {
  const [metric] = Object.values(FailedTGAllocs ?? {});
  if (!metric) return Status === "blocked" ? "Nomad has no place for the pod yet" : undefined;
  return `Nomad has no place for the pod: ${reasonsOf(metric).join("; ")}`;
}

function reasonsOf({
  NodesEvaluated = 0,
  NodesFiltered = 0,
  NodesExhausted = 0,
  ConstraintFiltered,
  DimensionExhausted,
}: PlacementMetric): string[] {
  const reasons = [`${NodesEvaluated} clients looked at`];
  if (NodesFiltered > 0) reasons.push(`${NodesFiltered} do not fit`);
  for (const [constraint, count] of Object.entries(ConstraintFiltered ?? {})) reasons.push(`${count} lack ${constraint}`);
  if (NodesExhausted > 0) reasons.push(`${NodesExhausted} are full`);
  for (const [dimension, count] of Object.entries(DimensionExhausted ?? {})) reasons.push(`${count} have too little ${dimension}`);
  if (NodesEvaluated === 0) reasons.push("no client is ready in the pod's datacenters and node pool");
  return reasons;
}
