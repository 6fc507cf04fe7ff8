import { ECSClient, RegisterTaskDefinitionCommand, RunTaskCommand } from "@aws-sdk/client-ecs";
import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { FakeAws, firstKeys } from "../../fargate/fake/fake-aws.ts";
import { shortTimings } from "../../fargate/fake/tasks/task-timings.ts";
import { clientOptions, definitionOf, runRequest } from "../../fargate/support/rig.ts";
import { DockerHost } from "../../support/container-host/docker-host.ts";
import { door, type Cloud, type ForeignObject } from "./cloud.ts";
import { readmeConfig } from "./readme-pod.ts";

const tokenArn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:door-token-a1b2c3";
const secretsAnnotation = "fargate.virtual-kubelet.io/secrets";

/**
 * Starts the fake of ECS. Of the README's configuration only what the test's Secret needs is different: one of its keys is in Secrets Manager,
 * the other is sent as plain text.
 */
export async function openFargate(dockerHost: string): Promise<Cloud> {
  const host = new DockerHost({ host: dockerHost, prefix: "fargate" });
  const aws = await FakeAws.start({ clock: systemClock, random: systemRandom, host, timings: shortTimings });
  const { logGroup, policy, ...config } = readmeConfig("fargate", "subnets");
  const { annotations = {} } = (policy ?? {}) as { readonly annotations?: object };
  aws.logs.createLogGroup({ logGroupName: String(logGroup) });
  aws.secrets.set(tokenArn, door.token);
  return {
    providerConfig: {
      ...config,
      logGroup,
      plaintextSecrets: true,
      policy: { ...(policy as object | undefined), annotations: { ...annotations, [secretsAnnotation]: [`door/token=${tokenArn}`] } },
    },
    env: {
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: firstKeys.accessKeyId,
      AWS_SECRET_ACCESS_KEY: firstKeys.secretAccessKey,
      AWS_ENDPOINT_URL_ECS: aws.endpoint,
      AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: aws.endpoint,
    },
    hasAddresses: true,
    secretAnnotations: { [secretsAnnotation]: `door/token=${tokenArn}` },
    credentials: [firstKeys.secretAccessKey],
    objectsOf: (podUid) =>
      aws.tasks.all
        .filter(({ spec }) => spec.request.tags?.some(({ value }) => value === podUid))
        .map(({ spec, desiredStatus }) => ({
          group: spec.id,
          isLive: desiredStatus === "RUNNING",
          runs: spec.containers[0]?.runs ?? [],
        })),
    countCreates: () => aws.rates.counts.get("RunTask") ?? 0,
    leaveNextCreateUnanswered: () => void aws.faults.add({ operation: "RunTask", effect: { kind: "hang", afterCommit: true } }),
    createForeign: () => createForeign(aws),
    [Symbol.asyncDispose]: () => aws[Symbol.asyncDispose](),
  };
}

/** Runs a task of another user; returns when it runs. */
async function createForeign(aws: FakeAws): Promise<ForeignObject> {
  const ecs = new ECSClient(clientOptions(aws.endpoint));
  const container = { name: "web", image: "busybox:1.37", command: ["sleep", "3600"] };
  await ecs.send(new RegisterTaskDefinitionCommand(definitionOf({ family: "others" }, container)));
  const { tasks = [] } = await ecs.send(
    new RunTaskCommand(runRequest({ taskDefinition: "others", tags: [{ key: "team", value: "others" }] })),
  );
  ecs.destroy();
  const task = aws.tasks.all.find(({ spec }) => spec.arn === tasks[0]?.taskArn);
  if (task === undefined) throw new Error("there is no task of others");
  while (task.lastStatus !== "RUNNING") await systemClock.sleep(20);
  return { describe: () => ({ task: task.toWire({ withTags: true }), definition: structuredClone(aws.definitions.find("others")) }) };
}
