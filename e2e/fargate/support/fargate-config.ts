import type { FakeAws } from "../fake/fake-aws.ts";

/** The provider's configuration for an account. */
export function configFor({ endpoint }: FakeAws): object {
  return {
    region: "us-east-1",
    subnets: ["subnet-1"],
    securityGroups: ["sg-1"],
    taskRoleArn: "arn:aws:iam::123456789012:role/task",
    executionRoleArn: "arn:aws:iam::123456789012:role/execution",
    logGroup: "/vk/pods",
    createLogGroup: true,
    plaintextSecrets: true,
    pauseImage: "busybox",
    filesImage: "busybox",
    ecsEndpoint: endpoint,
    logsEndpoint: endpoint,
  };
}
