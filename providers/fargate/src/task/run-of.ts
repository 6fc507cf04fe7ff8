import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { createToken, type PodIdentity } from "@virtual-kubelet/remote-pods";
import type { ContainerOverride, RunTaskCommandInput } from "@aws-sdk/client-ecs";
import { filesContainerName } from "./files-container.ts";
import type { PodSettings } from "./pod-settings.ts";
import { groupOf, startedByOf, tagsOf } from "./pod-identity.ts";

/** Maximum length of all overrides together. Source: ECS API reference, TaskOverride. */
const maxOverrideCharacters = 8192;

/**
 * Returns the RunTask request of a pod, without the task definition. Pure.
 *
 * @throws UnsupportedError if the values that belong to this pod alone are too long
 */
export function runOf({
  identity,
  settings,
  cluster,
  overrides,
}: {
  readonly identity: PodIdentity;
  readonly settings: PodSettings;
  readonly cluster: string;
  readonly overrides: readonly ContainerOverride[];
}): Omit<RunTaskCommandInput, "taskDefinition"> {
  const { subnets, securityGroups, assignPublicIp, capacityProviders, platformVersion, taskRoleArn, executeCommand } = settings;
  const characters = JSON.stringify({ containerOverrides: overrides }).length;
  const files = overrides.filter(({ name }) => name === filesContainerName);
  const largest = JSON.stringify(files).length * 2 > characters ? "spec.volumes" : "spec.containers";
  if (characters > maxOverrideCharacters)
    throw new UnsupportedError(
      `${largest}: the variables, arguments and files that differ between pods or come from Secrets have ${characters} characters, and ECS takes ` +
        `${maxOverrideCharacters} in a task's overrides; name copies of Secrets in Secrets Manager or SSM, or move content to Amazon EFS`,
      { fieldPath: largest },
    );
  return {
    cluster,
    count: 1,
    clientToken: createToken(identity),
    startedBy: startedByOf(identity.owner),
    group: groupOf(identity),
    ...(capacityProviders.length === 0
      ? { launchType: "FARGATE" }
      : { capacityProviderStrategy: capacityProviders.map((share) => ({ ...share })) }),
    platformVersion,
    networkConfiguration: {
      awsvpcConfiguration: {
        subnets: [...subnets],
        ...(securityGroups.length > 0 && { securityGroups: [...securityGroups] }),
        assignPublicIp: assignPublicIp ? "ENABLED" : "DISABLED",
      },
    },
    // ECS refuses it for a task without a role, which the agent in the task needs.
    enableExecuteCommand: executeCommand && taskRoleArn !== undefined,
    ...(overrides.length > 0 && { overrides: { containerOverrides: [...overrides] } }),
    tags: tagsOf(identity),
  };
}
