import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";

/**
 * Refuses a pod in which the exit of one container restarts all containers.
 *
 * @throws UnsupportedError naming the field
 */
export function checkRestartRules({ spec }: DeepReadonly<Pod>): void {
  for (const list of ["initContainers", "containers"] as const) {
    for (const [index, { restartPolicyRules = [] }] of (spec?.[list] ?? []).entries()) {
      const rule = restartPolicyRules.findIndex(({ action }) => action === "RestartAllContainers");
      if (rule < 0) continue;
      const fieldPath = `spec.${list}[${index}].restartPolicyRules[${rule}].action`;
      throw new UnsupportedError(`${fieldPath}: RestartAllContainers is not supported; use Restart, or a restartPolicy`, { fieldPath });
    }
  }
}
