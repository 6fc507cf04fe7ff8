import type { JobSpec, PodFailureRule } from "../../kinds/batch/batch-fields.ts";
import type { ContainerStatus, PodStatus } from "../../kinds/pod/pod-fields.ts";
import type { JobPod } from "./job-pods.ts";

/** Result of a Job's failure policy for one failed pod. */
export interface FailureVerdict {
  /** Whether the failure counts towards `backoffLimit`. */
  readonly isCounted: boolean;
  /** Message of the Job's failure, if this pod makes the Job fail. */
  readonly jobFailure?: string;
  /** Whether the pod's index fails permanently. */
  readonly failsIndex?: boolean;
}

/**
 * Evaluates the first rule that matches; without a match the failure counts.
 * Source: Kubernetes v1.36.3 pkg/controller/job/pod_failure_policy.go.
 */
export function judgeFailure({ podFailurePolicy }: JobSpec, pod: JobPod): FailureVerdict {
  for (const [index, rule] of (podFailurePolicy?.rules ?? []).entries()) {
    const reason = matchRule(rule, pod);
    if (reason === undefined) continue;
    switch (rule.action) {
      case "Ignore":
        return { isCounted: false };
      case "FailIndex":
        return { isCounted: true, failsIndex: true };
      case "FailJob":
        return { isCounted: true, jobFailure: `${reason} matching FailJob rule at index ${index}` };
      default:
        return { isCounted: true };
    }
  }
  return { isCounted: true };
}

function matchRule({ onExitCodes, onPodConditions = [] }: PodFailureRule, pod: JobPod): string | undefined {
  const { namespace, name } = pod.metadata;
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] }: PodStatus = pod["status"];
  if (onExitCodes !== undefined) {
    const container = [...containerStatuses, ...initContainerStatuses].find((status) => matchesExitCode(status, onExitCodes));
    if (container === undefined) return undefined;
    return `Container ${container.name} for pod ${namespace}/${name} failed with exit code ${container.state.terminated?.exitCode}`;
  }
  const condition = conditions.find(({ type, status }) => onPodConditions.some((one) => one.type === type && one.status === status));
  return condition === undefined ? undefined : `Pod ${namespace}/${name} has condition ${condition.type}`;
}

function matchesExitCode(
  { name, state }: ContainerStatus,
  { containerName, operator, values }: NonNullable<PodFailureRule["onExitCodes"]>,
): boolean {
  const exitCode = state.terminated?.exitCode ?? 0;
  if (exitCode === 0 || (containerName !== undefined && containerName !== name)) return false;
  const isListed = values?.includes(exitCode) ?? false;
  return operator === "In" ? isListed : operator === "NotIn" && !isListed;
}
