import type { DeepReadonly, PlanContext, PlannedRequest, Pod, ResolvedPod } from "@virtual-kubelet/core";
import type { MockConfig } from "./config.ts";
import { newPodModel } from "./pod/pod-model.ts";
import { scriptOf } from "./script/script.ts";

/** Plan of a pod. Since the mock has no back end, the pod's script takes the place of the request. */
export async function planMockPod(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { config }: PlanContext<MockConfig>,
  signal: AbortSignal,
): Promise<readonly PlannedRequest[]> {
  const { namespace = "", name = "" } = pod.metadata ?? {};
  // A pod whose environment cannot be resolved does not start.
  for (const container of [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])])
    await resolved.environment(container.name, signal);
  const { fail, ...script } = scriptOf(pod, config.stages);
  const { containers } = newPodModel(pod, { fail, ...script }, { ms: 0, time: "" });
  const body = {
    ...(fail !== undefined && { fail }),
    containers: containers.map((container) => ({
      name: container.name,
      role: container.role,
      image: container.image,
      restarts: container.restarts,
      script: container.script,
    })),
  };
  return [{ purpose: "play the pod", method: "PLAY", path: `/pods/${namespace}/${name}`, body, note: "in memory; nothing is sent" }];
}
