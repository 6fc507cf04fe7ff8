import type { EcsContainer, EcsTask } from "../aws/ecs-objects.ts";

/** ARN of the tests' task. */
export const taskArn = "arn:aws:ecs:eu-west-1:123456789012:task/default/0123456789abcdef0123456789abcdef";

/** Returns a task that runs. */
export function taskWith(changes: Partial<EcsTask> = {}, ...containers: readonly EcsContainer[]): EcsTask {
  return {
    taskArn,
    lastStatus: "RUNNING",
    desiredStatus: "RUNNING",
    createdAt: "2026-11-21T10:00:00.000Z",
    startedAt: "2026-11-21T10:00:30.000Z",
    containers,
    attachments: [],
    tags: {},
    ...changes,
  };
}

/** Returns a container that runs. */
export function running(name: string, changes: Partial<EcsContainer> = {}): EcsContainer {
  return { name, image: "nginx:1.29", lastStatus: "RUNNING", runtimeId: `run-${name}`, ...changes };
}

/** Returns a container that has ended. */
export function ended(name: string, exitCode: number | undefined, changes: Partial<EcsContainer> = {}): EcsContainer {
  return running(name, { lastStatus: "STOPPED", exitCode, ...changes });
}
