import { NotFoundError, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { EcsTask } from "../aws/ecs-objects.ts";

/** Name of the agent that runs commands in a task. Source: ECS API reference, ManagedAgent. */
const agentName = "ExecuteCommandAgent";

/**
 * Checks that a command can be run in a container.
 *
 * @throws NotFoundError, UnavailableError or UnsupportedError with exactly what is missing
 */
export function checkExec({ enableExecuteCommand, containers, lastStatus }: EcsTask, container: string): void {
  const attempted = `run a command in container ${container}`;
  if (enableExecuteCommand !== true)
    throw new UnsupportedError(
      `${attempted}: the task was started without exec; give the pod a task role with ssmmessages:CreateControlChannel, CreateDataChannel, ` +
        `OpenControlChannel and OpenDataChannel (setting taskRoleArn, annotation iam.amazonaws.com/role), leave executeCommand on, and create the pod again`,
    );
  const found = containers.find(({ name }) => name === container);
  if (!found) throw new NotFoundError(`${attempted}: the task has no such container`);
  if (found.lastStatus !== "RUNNING")
    throw new UnavailableError(`${attempted}: it is ${found.lastStatus ?? "unknown"}, and the task ${lastStatus}`);
  const agent = found.managedAgents?.find(({ name }) => name === agentName);
  switch (agent?.lastStatus) {
    case "RUNNING":
    case undefined:
      return;
    case "PENDING":
      throw new UnavailableError(`${attempted}: the agent that runs commands is still starting; try again in some seconds`);
    default:
      throw new UnavailableError(
        `${attempted}: the agent that runs commands is ${agent?.lastStatus}: ${agent?.reason ?? "no reason is given"}; it needs a task role with ` +
          `ssmmessages rights, a way to the Systems Manager endpoints, and a root file system that can be written`,
      );
  }
}
