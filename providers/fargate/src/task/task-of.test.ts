import type { Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { arns, configOf, identity, podOf, resolverOf, type Cluster } from "../test-support/pods.ts";
import { taskOf, type TaskRequest } from "./task-of.ts";

type Spec = NonNullable<Pod["spec"]>;

async function translate(
  spec: Spec,
  {
    config = {},
    annotations = {},
    cluster = {},
    name,
  }: { config?: object; annotations?: Record<string, string>; cluster?: Cluster; name?: string } = {},
): Promise<TaskRequest> {
  const pod = podOf(spec, annotations);
  if (name !== undefined) pod.metadata = { ...pod.metadata, name };
  const whose = { ...identity, ref: { ...identity.ref, name: name ?? identity.ref.name } };
  return taskOf(pod, resolverOf(pod, cluster), { config: configOf(config), identity: whose }, new AbortController().signal);
}

const main = { name: "main", image: "nginx:1.29" };

test("a pod of one container is one essential container, with all that ECS can keep", async () => {
  const { definition, run, notes } = await translate(
    {
      restartPolicy: "OnFailure",
      terminationGracePeriodSeconds: 45,
      securityContext: { runAsUser: 1000, runAsGroup: 2000 },
      containers: [
        {
          ...main,
          command: ["nginx"],
          args: ["-g", "daemon off;"],
          env: [
            { name: "A", value: "1" },
            { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          ],
          workingDir: "/srv",
          ports: [{ containerPort: 80 }, { containerPort: 53, protocol: "UDP" }],
          resources: { requests: { cpu: "250m", memory: "256Mi" }, limits: { cpu: "500m", memory: "1Gi" } },
          livenessProbe: { exec: { command: ["check"] }, periodSeconds: 15, timeoutSeconds: 3, initialDelaySeconds: 20 },
          securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"], add: ["SYS_PTRACE"] } },
        },
      ],
    },
    {
      config: {
        cluster: "prod",
        securityGroups: ["sg-1"],
        assignPublicIp: true,
        taskRoleArn: arns.taskRole,
        executionRoleArn: arns.executionRole,
        logGroup: "/ecs/pods",
        platformVersion: "1.4.0",
      },
    },
  );

  expect(definition).toEqual({
    family: expect.stringMatching(/^vk-[0-9a-f]{12}-[0-9a-f]{32}$/),
    networkMode: "awsvpc",
    requiresCompatibilities: ["FARGATE"],
    cpu: "512",
    memory: "1024",
    runtimePlatform: { operatingSystemFamily: "LINUX", cpuArchitecture: "X86_64" },
    taskRoleArn: arns.taskRole,
    executionRoleArn: arns.executionRole,
    volumes: [],
    tags: [
      { key: "vk.managed-by", value: "virtual-kubelet" },
      { key: "vk.cluster", value: "c1" },
      { key: "vk.node", value: "fargate-1.example" },
    ],
    containerDefinitions: [
      {
        name: "main",
        image: "nginx:1.29",
        essential: true,
        cpu: 512,
        memory: 1024,
        memoryReservation: 256,
        entryPoint: ["nginx"],
        command: ["-g", "daemon off;"],
        environment: [{ name: "A", value: "1" }],
        workingDirectory: "/srv",
        portMappings: [
          { containerPort: 80, protocol: "tcp" },
          { containerPort: 53, protocol: "udp" },
        ],
        healthCheck: { command: ["CMD", "check"], interval: 15, timeout: 3, retries: 3, startPeriod: 20 },
        stopTimeout: 45,
        restartPolicy: { enabled: true, ignoredExitCodes: [0], restartAttemptPeriod: 60 },
        user: "1000:2000",
        readonlyRootFilesystem: true,
        linuxParameters: { capabilities: { add: ["SYS_PTRACE"], drop: ["ALL"] } },
        logConfiguration: {
          logDriver: "awslogs",
          options: {
            "awslogs-group": "/ecs/pods",
            "awslogs-region": "eu-west-1",
            "awslogs-stream-prefix": "virtual-kubelet",
            mode: "non-blocking",
          },
        },
      },
    ],
  });
  expect(run).toEqual({
    cluster: "prod",
    count: 1,
    clientToken: "0a1b2c3d-0000-4000-8000-000000000000-0",
    startedBy: expect.stringMatching(/^virtual-kubelet\/fargate-1-example\/[0-9a-f]{12}$/),
    group: "pod:shop/web.v1/0a1b2c3d-0000-4000-8000-000000000000/0",
    launchType: "FARGATE",
    platformVersion: "1.4.0",
    networkConfiguration: { awsvpcConfiguration: { subnets: ["subnet-1"], securityGroups: ["sg-1"], assignPublicIp: "ENABLED" } },
    enableExecuteCommand: true,
    overrides: { containerOverrides: [{ name: "main", environment: [{ name: "POD", value: "web.v1" }] }] },
    tags: expect.arrayContaining([
      { key: "vk.node", value: "fargate-1.example" },
      { key: "vk.uid", value: "0a1b2c3d-0000-4000-8000-000000000000" },
    ]),
  });
  expect(notes).toEqual([]);
});

test("a pod of several containers lives until its last container has ended, whichever ends first", async () => {
  const { definition } = await translate({ restartPolicy: "Never", containers: [main, { name: "side", image: "busybox" }] });

  expect(definition.containerDefinitions?.map(({ name, essential, restartPolicy }) => ({ name, essential, restartPolicy }))).toEqual([
    { name: "main", essential: false, restartPolicy: undefined },
    { name: "side", essential: false, restartPolicy: undefined },
    { name: "vk-pause", essential: true, restartPolicy: undefined },
  ]);
});

test("init containers run one after the other, and sidecars go on", async () => {
  const { definition } = await translate({
    restartPolicy: "Never",
    initContainers: [
      { name: "first", image: "i" },
      { name: "proxy", image: "i", restartPolicy: "Always" },
      { name: "second", image: "i" },
    ],
    containers: [main],
  });

  expect(
    definition.containerDefinitions?.map(({ name, essential, dependsOn, restartPolicy }) => [
      name,
      essential,
      dependsOn,
      restartPolicy?.enabled,
    ]),
  ).toEqual([
    ["first", false, undefined, undefined],
    ["proxy", false, [{ containerName: "first", condition: "SUCCESS" }], true],
    [
      "second",
      false,
      [
        { containerName: "first", condition: "SUCCESS" },
        { containerName: "proxy", condition: "START" },
      ],
      undefined,
    ],
    [
      "main",
      true,
      [
        { containerName: "second", condition: "SUCCESS" },
        { containerName: "proxy", condition: "START" },
      ],
      undefined,
    ],
  ]);
});

test("replicas share one task definition, and differ in their overrides only", async () => {
  const spec: Spec = {
    containers: [{ ...main, env: [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }], args: ["--name=$(POD)"] }],
  };
  const [one, two] = await Promise.all([translate(spec, { name: "web-1" }), translate(spec, { name: "web-2" })]);

  expect(one.definition).toEqual(two.definition);
  expect(one.run.overrides).toEqual({
    containerOverrides: [{ name: "main", environment: [{ name: "POD", value: "web-1" }], command: ["--name=web-1"] }],
  });
  expect(two.run.overrides?.containerOverrides?.[0]?.command).toEqual(["--name=web-2"]);
});

test("another image, another role and another node each have a task definition of their own", async () => {
  const spec: Spec = { containers: [main] };
  const families = await Promise.all([
    translate(spec),
    translate({ containers: [{ ...main, image: "nginx:1.30" }] }),
    translate(spec, { config: { taskRoleArn: arns.taskRole } }),
  ]);

  expect(new Set(families.map(({ definition }) => definition.family)).size).toBe(3);
});

describe("the original's faults", () => {
  test("a pod whose name has dots has a family that ECS accepts", async () => {
    expect((await translate({ containers: [main] })).definition.family).toMatch(/^[A-Za-z0-9_-]{1,255}$/);
  });

  test("8 vCPU are a size", async () => {
    const { definition } = await translate({ containers: [{ ...main, resources: { limits: { cpu: "8", memory: "16Gi" } } }] });

    expect(definition).toMatchObject({ cpu: "8192", memory: "16384" });
  });

  test("the role of the annotation iam.amazonaws.com/role is the task's", async () => {
    const { definition, run } = await translate({ containers: [main] }, { annotations: { "iam.amazonaws.com/role": arns.taskRole } });

    expect(definition.taskRoleArn).toBe(arns.taskRole);
    expect(run.enableExecuteCommand).toBe(true);
  });

  test("a pod without resources has the smallest task", async () => {
    expect((await translate({ containers: [main] })).definition).toMatchObject({ cpu: "256", memory: "512" });
  });
});

describe("sizes", () => {
  test("containers are added up, and init containers count by their peak", async () => {
    const resources = (cpu: string, memory: string): object => ({ resources: { requests: { cpu, memory } } });
    const { definition, notes } = await translate({
      initContainers: [
        { name: "big", image: "i", ...resources("100m", "3Gi") },
        { name: "proxy", image: "i", restartPolicy: "Always", ...resources("250m", "100Mi") },
      ],
      containers: [
        { ...main, ...resources("500m", "1Gi") },
        { name: "b", image: "i", ...resources("500m", "1Gi") },
      ],
    });

    expect(definition).toMatchObject({ cpu: "2048", memory: "4096" });
    expect(notes).toEqual([
      { reason: "TaskSizeRounded", message: "AWS bills a task of 2 vCPU and 4096 MiB; the containers ask for 1.25 vCPU and 3072 MiB" },
    ]);
  });

  test("ephemeral storage above 20 GiB is asked for", async () => {
    const { definition } = await translate({ containers: [{ ...main, resources: { requests: { "ephemeral-storage": "50Gi" } } }] });

    expect(definition.ephemeralStorage).toEqual({ sizeInGiB: 50 });
  });

  test("ephemeral storage above 200 GiB is refused", async () => {
    await expect(translate({ containers: [{ ...main, resources: { limits: { "ephemeral-storage": "201Gi" } } }] })).rejects.toMatchObject({
      code: "VK_UNSUPPORTED",
    });
  });

  test("an eleventh container is refused, counting the one that keeps the task alive", async () => {
    const containers = Array.from({ length: 10 }, (_, index) => ({ name: `c${index}`, image: "i" }));

    await expect(translate({ containers })).rejects.toMatchObject({ fieldPath: "spec.containers", message: /needs 11 containers/ });
  });
});

test("Spot and other capacity providers replace the launch type", async () => {
  const config = { capacityProviders: ["FARGATE_SPOT", { capacityProvider: "FARGATE", weight: 2, base: 1 }] };
  const { run } = await translate({ containers: [main] }, { config });
  const onDemand = await translate(
    { containers: [main] },
    { config, annotations: { "fargate.virtual-kubelet.io/capacity-provider": "FARGATE" } },
  );

  expect(run.launchType).toBeUndefined();
  expect(run.capacityProviderStrategy).toEqual([
    { capacityProvider: "FARGATE_SPOT", weight: 1, base: 0 },
    { capacityProvider: "FARGATE", weight: 2, base: 1 },
  ]);
  expect(onDemand.run).toMatchObject({ launchType: "FARGATE" });
});

test("a node of arm64 runs ARM64 tasks", async () => {
  expect((await translate({ containers: [main] }, { config: { architecture: "arm64" } })).definition.runtimePlatform).toMatchObject({
    cpuArchitecture: "ARM64",
  });
});

test("without a task role exec is off, because ECS would refuse the task", async () => {
  expect((await translate({ containers: [main] })).run.enableExecuteCommand).toBe(false);
});

test("values that ECS does not take are rounded, and told", async () => {
  const { definition, notes } = await translate({
    terminationGracePeriodSeconds: 600,
    hostname: "web-0",
    imagePullSecrets: [{ name: "registry" }],
    containers: [{ ...main, livenessProbe: { exec: { command: ["c"] }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 30 } }],
  });

  expect(definition.containerDefinitions?.[0]).toMatchObject({ stopTimeout: 120, healthCheck: { interval: 5, timeout: 2, retries: 10 } });
  expect(notes.map(({ reason }) => reason)).toEqual([
    "TaskSizeRounded",
    "HealthCheckAdjusted",
    "GracePeriodShortened",
    "PullSecretsUnused",
    "HostnameUnused",
  ]);
});

test.each([0, 1])("a grace of %i s is the shortest that ECS takes", async (terminationGracePeriodSeconds) => {
  const { definition } = await translate({ terminationGracePeriodSeconds, containers: [main] });

  expect(definition.containerDefinitions?.[0]?.stopTimeout).toBe(2);
});

test("a definition of more than 64 KiB is refused", async () => {
  const translated = translate({ containers: [{ ...main, env: [{ name: "LONG", value: "x".repeat(70_000) }] }] });

  await expect(translated).rejects.toMatchObject({ code: "VK_UNSUPPORTED", fieldPath: "spec.containers" });
  await expect(translated).rejects.toThrow("ECS takes 64 KiB");
});

test("overrides of more than 8192 characters are refused", async () => {
  const env = [
    { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "LONG", value: `$(POD)${"x".repeat(8_200)}` },
  ];

  await expect(translate({ containers: [{ ...main, env }] })).rejects.toMatchObject({
    code: "VK_UNSUPPORTED",
    fieldPath: "spec.containers",
    message: expect.stringContaining("ECS takes 8192") as string,
  });
});
