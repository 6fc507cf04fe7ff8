import type { ContainerDefinition } from "@aws-sdk/client-ecs";

/** Name of the container that keeps a task of several containers alive. */
export const pauseContainerName = "vk-pause";

/** Returns the only essential container of a task with several containers. It ends at once when the task is stopped. */
export function pauseContainerOf(image: string): ContainerDefinition {
  return {
    name: pauseContainerName,
    image,
    essential: true,
    entryPoint: ["sh", "-c"],
    command: ["trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"],
    stopTimeout: 2,
  };
}
