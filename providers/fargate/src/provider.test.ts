import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { provider } from "./provider.ts";
import { reasons } from "./reasons.ts";
import { configOf, podOf, resolverOf } from "./test-support/pods.ts";

async function plan(spec: NonNullable<Pod["spec"]>, config: object = {}): Promise<unknown> {
  const pod = podOf(spec);
  const context = { nodeName: "fargate-1", clusterId: "c1", clusterDomain: "cluster.local", config: configOf(config) };
  const secrets = { db: { password: "<db/password>" } };
  return provider.plan?.(pod, resolverOf(pod, { secrets }), context, new AbortController().signal);
}

test("a plan has the exact bodies of both requests, with the placeholders of secrets", async () => {
  const requests = await plan(
    {
      restartPolicy: "Never",
      containers: [
        {
          name: "main",
          image: "nginx",
          env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }],
          resources: { limits: { cpu: "1", memory: "1Gi" } },
        },
      ],
    },
    { plaintextSecrets: true },
  );

  const family = expect.stringMatching(/^vk-[0-9a-f]{12}-[0-9a-f]{32}$/) as string;
  expect(requests).toEqual([
    {
      purpose: "register the task definition",
      method: "POST",
      path: "/",
      headers: {
        "content-type": "application/x-amz-json-1.1",
        "x-amz-target": "AmazonEC2ContainerServiceV20141113.RegisterTaskDefinition",
      },
      note: "only if the family has no active revision yet",
      body: {
        family,
        networkMode: "awsvpc",
        requiresCompatibilities: ["FARGATE"],
        cpu: "1024",
        memory: "2048",
        runtimePlatform: { operatingSystemFamily: "LINUX", cpuArchitecture: "X86_64" },
        containerDefinitions: [{ name: "main", image: "nginx", essential: true, cpu: 1024, memory: 1024, stopTimeout: 30 }],
        volumes: [],
        tags: [
          { key: "vk.managed-by", value: "virtual-kubelet" },
          { key: "vk.cluster", value: "c1" },
          { key: "vk.node", value: "fargate-1" },
        ],
      },
    },
    {
      purpose: "run the task",
      method: "POST",
      path: "/",
      headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": "AmazonEC2ContainerServiceV20141113.RunTask" },
      note: "AWS bills a task of 1 vCPU and 2048 MiB; the containers ask for 1 vCPU and 1024 MiB",
      body: {
        cluster: "default",
        count: 1,
        clientToken: "0a1b2c3d-0000-4000-8000-000000000000-0",
        startedBy: expect.stringMatching(/^virtual-kubelet\/fargate-1\/[0-9a-f]{12}$/) as string,
        group: "pod:shop/web.v1/0a1b2c3d-0000-4000-8000-000000000000/0",
        launchType: "FARGATE",
        platformVersion: "LATEST",
        networkConfiguration: { awsvpcConfiguration: { subnets: ["subnet-1"], assignPublicIp: "DISABLED" } },
        enableExecuteCommand: false,
        overrides: { containerOverrides: [{ name: "main", environment: [{ name: "PASSWORD", value: "<db/password>" }] }] },
        tags: expect.arrayContaining([{ key: "vk.attempt", value: "0" }]) as unknown,
        taskDefinition: expect.stringMatching(/^\{ARN of vk-/) as string,
      },
    },
  ]);
});

test("a plan refuses what a create refuses", async () => {
  await expect(plan({ containers: [{ name: "main", image: "i" }], dnsPolicy: "None" })).rejects.toMatchObject({
    fieldPath: "spec.dnsPolicy",
  });
});

test("the policy has to allow every annotation that gives a pod something of the account", () => {
  expect(provider.policyAnnotations?.map(({ name }) => name)).toEqual([
    "iam.amazonaws.com/role",
    "fargate.virtual-kubelet.io/execution-role",
    "fargate.virtual-kubelet.io/subnets",
    "fargate.virtual-kubelet.io/security-groups",
    "fargate.virtual-kubelet.io/assign-public-ip",
    "fargate.virtual-kubelet.io/capacity-provider",
    "fargate.virtual-kubelet.io/secrets",
    "fargate.virtual-kubelet.io/repository-credentials",
  ]);
  expect(provider.policy?.(configOf({ policy: { annotations: { "iam.amazonaws.com/role": ["*"] } } }))).toEqual({
    annotations: { "iam.amazonaws.com/role": ["*"] },
  });
});

test("a file system that a pod names itself needs the policy's permission", () => {
  const [volume] = provider.policyVolumes ?? [];

  expect(volume?.idOf({ name: "data", nfs: { server: "fs-1.efs.eu-west-1.amazonaws.com", path: "/" } })).toBe(
    "fs-1.efs.eu-west-1.amazonaws.com",
  );
  expect(volume?.idOf({ name: "data", emptyDir: {} })).toBeUndefined();
});

test("every reason has a meaning and a remedy", () => {
  for (const [reason, { meaning, remedy }] of Object.entries(reasons)) {
    expect(reason).toMatch(/^[A-Z][A-Za-z]+$/);
    expect(meaning).toMatch(/\.$/);
    expect(remedy).toMatch(/\.$/);
  }
});
