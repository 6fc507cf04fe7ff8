import { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { ECSClient, type ContainerDefinition, type RegisterTaskDefinitionRequest, type RunTaskRequest } from "@aws-sdk/client-ecs";
import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { PretendHost, type PretendGroup } from "../../support/container-host/pretend-host.ts";
import type { ChooseScript } from "../../support/container-host/run-script.ts";
import { FakeAws, firstKeys, type FakeAwsOptions } from "../fake/fake-aws.ts";

/** The fake on virtual time, with pretended containers, and AWS's own clients for it. */
export interface Rig extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly host: PretendHost;
  readonly aws: FakeAws;
  readonly ecs: ECSClient;
  readonly logs: CloudWatchLogsClient;
}

/** Starts a rig. @param options - `script`: behavior of the containers; others as of the fake */
export async function openRig({
  script,
  ...options
}: Partial<Omit<FakeAwsOptions, "clock" | "host" | "random">> & { readonly script?: ChooseScript } = {}): Promise<Rig> {
  const clock = new VirtualClock();
  const host = new PretendHost({ clock, script });
  const aws = await FakeAws.start({ clock, host, random: new SeededRandom(1), ...options });
  const client = clientOptions(aws.endpoint);
  const ecs = new ECSClient(client);
  const logs = new CloudWatchLogsClient(client);
  return {
    clock,
    host,
    aws,
    ecs,
    logs,
    [Symbol.asyncDispose]: async () => {
      ecs.destroy();
      logs.destroy();
      await aws[Symbol.asyncDispose]();
    },
  };
}

/** Options of AWS's clients for the fake: one attempt for each request. */
export function clientOptions(endpoint: string): {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: typeof firstKeys;
  readonly maxAttempts: number;
} {
  return { endpoint, region: "us-east-1", credentials: firstKeys, maxAttempts: 1 };
}

/** A definition of one essential container, with changes. */
export function definitionOf(
  changes: Partial<RegisterTaskDefinitionRequest> = {},
  ...containers: readonly ContainerDefinition[]
): RegisterTaskDefinitionRequest {
  return {
    family: "vk-web",
    networkMode: "awsvpc",
    requiresCompatibilities: ["FARGATE"],
    cpu: "256",
    memory: "512",
    executionRoleArn: "arn:aws:iam::123456789012:role/execution",
    taskRoleArn: "arn:aws:iam::123456789012:role/task",
    containerDefinitions: containers.length > 0 ? [...containers] : [{ name: "web", image: "nginx:1.29" }],
    ...changes,
  };
}

/** A RunTask request with changes. */
export function runRequest(changes: Partial<RunTaskRequest> = {}): RunTaskRequest {
  return {
    taskDefinition: "vk-web",
    launchType: "FARGATE",
    networkConfiguration: { awsvpcConfiguration: { subnets: ["subnet-1"] } },
    ...changes,
  };
}

/** The only group of the rig's host. @throws Error if there is not exactly one */
export function onlyGroup({ host }: Rig): PretendGroup {
  const [group, ...others] = host.groups.values();
  if (group === undefined || others.length > 0) throw new Error(`the host has ${host.groups.size} groups`);
  return group;
}
