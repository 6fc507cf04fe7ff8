import type { ContainerRun } from "../../../support/container-host/container-host.ts";
import { AwsError, invalidParameter } from "../api/aws-error.ts";
import type { OpenedSession } from "../exec/session-server.ts";
import type { Tasks } from "./tasks.ts";

/** Request of ExecuteCommand. */
export interface ExecuteCommandInput {
  readonly cluster?: string;
  readonly task?: string;
  readonly container?: string;
  readonly command?: string;
  readonly interactive?: boolean;
}

/** Opens a session in a container whose agent runs. @throws AwsError if it cannot be opened */
export function executeCommand(
  tasks: Tasks,
  { cluster, task: name = "", container: containerName, command = "", interactive }: ExecuteCommandInput,
  open: (run: ContainerRun, command: string) => OpenedSession,
): object {
  if (!interactive) throw invalidParameter("Interactive is the only mode supported currently.");
  const task = tasks.find(cluster, name);
  const { containers } = task.spec;
  if (containerName === undefined && containers.length > 1)
    throw invalidParameter("A container name is required for tasks with multiple containers.");
  const container = containers.find((each) => each.name === (containerName ?? containers[0]?.name));
  if (container === undefined) throw invalidParameter("The container name was not found in the task.");
  if (container.run === undefined || container.agent?.status !== "RUNNING" || container.lastStatus !== "RUNNING")
    throw invalidParameter(
      "The execute command failed because execute command was not enabled when the task was run or the execute command agent isn't running. Wait and try again or run a new task with execute command enabled and try again.",
    );
  if (container.definition.readonlyRootFilesystem)
    throw new AwsError("TargetNotConnectedException", "The execute command failed due to an internal error. Try again later.");
  return {
    clusterArn: task.spec.cluster.arn,
    containerArn: container.arn,
    containerName: container.name,
    interactive: true,
    session: open(container.run, command),
    taskArn: task.spec.arn,
  };
}
