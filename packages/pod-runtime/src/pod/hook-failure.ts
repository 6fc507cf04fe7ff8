import { podName, type ContainerContext } from "./container-step.ts";

/**
 * Status message of a container whose postStart hook failed. Source: HandlerRunner.Run in kubernetes v1.36.3
 * pkg/kubelet/lifecycle/handlers.go.
 */
export function hookFailure(error: string, { desiredPod, desired: { name, container } }: ContainerContext): string {
  const { exec, httpGet, sleep } = container.lifecycle?.postStart ?? {};
  const what = exec
    ? `Exec lifecycle hook ([${exec.command?.join(" ") ?? ""}])`
    : httpGet
      ? `HTTP lifecycle hook (${httpGet.path ?? ""})`
      : `Sleep lifecycle hook (${sleep?.seconds ?? 0})`;
  return `${what} for Container "${name}" in Pod "${podName(desiredPod)}" failed - error: ${error}`;
}
