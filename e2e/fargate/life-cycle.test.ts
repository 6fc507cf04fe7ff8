import {
  DescribeTasksCommand,
  RegisterTaskDefinitionCommand,
  RunTaskCommand,
  StopTaskCommand,
  type ContainerDefinition,
  type RegisterTaskDefinitionRequest,
  type RunTaskRequest,
  type Task,
} from "@aws-sdk/client-ecs";
import { GetLogEventsCommand } from "@aws-sdk/client-cloudwatch-logs";
import { afterEach, expect, test } from "vitest";
import type { RunScript } from "../support/container-host/run-script.ts";
import { digestOf } from "./fake/tasks/fake-container.ts";
import { usualTimings } from "./fake/tasks/task-timings.ts";
import { definitionOf, openRig, runRequest, onlyGroup, type Rig } from "./support/rig.ts";

// A task's life on virtual time, as amazon-ecs-agent's sources and the documentation describe it.

const rigs: Rig[] = [];
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig[Symbol.asyncDispose]();
});

interface Started {
  readonly rig: Rig;
  readonly arn: string;
  /** Describes the task. */
  look(): Promise<Task>;
  /** Lets time pass, and describes the task whenever something has changed. */
  watch(ms: number): Promise<readonly string[]>;
}

/** Runs a task whose containers have these scripts, by their names. */
async function start(
  containers: readonly ContainerDefinition[],
  scripts: Readonly<Record<string, RunScript | readonly RunScript[]>> = {},
  more: {
    readonly run?: Partial<RunTaskRequest>;
    readonly definition?: Partial<RegisterTaskDefinitionRequest>;
    readonly prepare?: (rig: Rig) => void;
  } = {},
): Promise<Started> {
  const rig = await openRig({
    script: ({ name, attempt }) => {
      const script = scripts[name] ?? {};
      return Array.isArray(script) ? (script[attempt] ?? {}) : (script as RunScript);
    },
  });
  rigs.push(rig);
  rig.aws.tasks.settings.visibleAfterMs = 0;
  more.prepare?.(rig);
  await rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf({ cpu: "1024", memory: "2048", ...more.definition }, ...containers)));
  const { tasks } = await rig.ecs.send(new RunTaskCommand(runRequest(more.run)));
  const arn = tasks?.[0]?.taskArn ?? "";
  const look = async (): Promise<Task> => {
    const answer = await rig.ecs.send(new DescribeTasksCommand({ tasks: [arn], include: ["TAGS"] }));
    const [task] = answer.tasks ?? [];
    if (task === undefined) throw new Error("the task is missing");
    return task;
  };
  const watch = async (ms: number): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (let passed = 0; passed <= ms; passed += 100) {
      const line = brief(await look());
      if (seen.at(-1) !== line) seen.push(line);
      await rig.clock.advance(100);
    }
    return seen;
  };
  return { rig, arn, look, watch };
}

function brief({ lastStatus, desiredStatus, containers = [] }: Task): string {
  const parts = containers.map(
    ({ name, lastStatus: status, exitCode }) => `${name} ${status}${exitCode === undefined ? "" : ` ${exitCode}`}`,
  );
  return `${lastStatus}/${desiredStatus}: ${parts.join(", ")}`;
}

test("a task goes through all statuses in order, and ends with its essential container", async () => {
  const { watch, look, rig } = await start([{ name: "web", image: "nginx" }], {
    web: { pullMs: 4000, exit: { afterMs: 10_000, exitCode: 3 } },
  });
  const createdAt = new Date(rig.clock.now());
  expect(await watch(40_000)).toEqual([
    "PROVISIONING/RUNNING: web PENDING",
    "PENDING/RUNNING: web PENDING",
    "ACTIVATING/RUNNING: web RUNNING",
    "RUNNING/RUNNING: web RUNNING",
    "DEACTIVATING/STOPPED: web STOPPED 3",
    "DEPROVISIONING/STOPPED: web STOPPED 3",
    "STOPPED/STOPPED: web STOPPED 3",
  ]);
  const task = await look();
  expect(task).toMatchObject({
    createdAt,
    stopCode: "EssentialContainerExited",
    stoppedReason: "Essential container in task exited",
    connectivity: "CONNECTED",
    launchType: "FARGATE",
    platformVersion: "1.4.0",
    containers: [{ imageDigest: digestOf("nginx"), runtimeId: expect.stringMatching(/^[0-9a-f]{32}-\d+$/) }],
    attachments: [{ status: "DELETED" }],
  });
  const times = [
    task.createdAt,
    task.pullStartedAt,
    task.pullStoppedAt,
    task.startedAt,
    task.stoppingAt,
    task.executionStoppedAt,
    task.stoppedAt,
  ].map((time) => (time?.getTime() ?? NaN) - createdAt.getTime());
  expect(times).toEqual([0, 10_000, 14_000, 14_500, 24_000, 24_500, 29_500]);
});

test("the address appears with the interface, in the task and in its containers", async () => {
  const { rig, look } = await start([{ name: "web", image: "nginx" }]);
  await rig.clock.advance(9000);
  const { attachments, containers } = await look();
  expect(attachments?.[0]).toMatchObject({
    status: "ATTACHED",
    details: expect.arrayContaining([
      { name: "subnetId", value: "subnet-1" },
      { name: "privateIPv4Address", value: "10.240.0.1" },
    ]),
  });
  expect(containers?.[0]?.networkInterfaces?.[0]?.privateIpv4Address).toBe("10.240.0.1");
});

test("an address can come late", async () => {
  const { rig, look } = await start(
    [{ name: "web", image: "nginx" }],
    {},
    { prepare: ({ aws }) => (aws.timings = { ...usualTimings, addressMs: 30_000 }) },
  );
  await rig.clock.advance(11_000);
  expect(JSON.stringify(await look())).not.toContain("10.240.0.1");
  expect((await look()).lastStatus).toBe("RUNNING");
  await rig.clock.advance(30_000);
  expect(JSON.stringify(await look())).toContain("10.240.0.1");
});

const pause = { name: "pause", image: "pause" };
const main = (name: string, changes: Partial<ContainerDefinition> = {}): ContainerDefinition => ({
  name,
  image: name,
  essential: false,
  ...changes,
});

test("containers start in the order of SUCCESS, and a task with one to come is still PENDING", async () => {
  const { watch } = await start([pause, main("setup"), main("web", { dependsOn: [{ containerName: "setup", condition: "SUCCESS" }] })], {
    setup: { exit: { afterMs: 5000, exitCode: 0 } },
    web: { exit: { afterMs: 5000, exitCode: 7 } },
  });
  expect(await watch(30_000)).toEqual([
    "PROVISIONING/RUNNING: pause PENDING, setup PENDING, web PENDING",
    "PENDING/RUNNING: pause PENDING, setup PENDING, web PENDING",
    "PENDING/RUNNING: pause RUNNING, setup RUNNING, web PENDING",
    "ACTIVATING/RUNNING: pause RUNNING, setup STOPPED 0, web RUNNING",
    "RUNNING/RUNNING: pause RUNNING, setup STOPPED 0, web RUNNING",
    "RUNNING/RUNNING: pause RUNNING, setup STOPPED 0, web STOPPED 7",
  ]);
});

test("after a failed dependency a container is STOPPED with 143 and never starts", async () => {
  const { rig, look } = await start(
    [pause, main("setup"), main("web", { dependsOn: [{ containerName: "setup", condition: "SUCCESS" }] })],
    { setup: { exit: { afterMs: 1000, exitCode: 1 } } },
  );
  await rig.clock.advance(30_000);
  const task = await look();
  expect(brief(task)).toBe("RUNNING/RUNNING: pause RUNNING, setup STOPPED 1, web STOPPED 143");
  expect(task.containers?.[2]?.reason).toContain("did not exit successfully");
  expect(onlyGroup(rig).runs.map(({ spec }) => spec.name)).toEqual(["pause", "setup"]);
});

test("a container waits for COMPLETE, whatever the exit code, and for START of one that runs", async () => {
  const { rig, look } = await start(
    [
      pause,
      main("a"),
      main("b", { dependsOn: [{ containerName: "a", condition: "COMPLETE" }] }),
      main("c", { dependsOn: [{ containerName: "b", condition: "START" }] }),
    ],
    { a: { exit: { afterMs: 3000, exitCode: 9 } } },
  );
  await rig.clock.advance(12_000);
  expect(brief(await look())).toContain("a RUNNING, b PENDING, c PENDING");
  await rig.clock.advance(4000);
  expect(brief(await look())).toContain("a STOPPED 9, b RUNNING, c RUNNING");
});

test("a container waits until another is HEALTHY, and gives up after its start timeout", async () => {
  const healthCheck = { command: ["CMD-SHELL", "check"], interval: 5, retries: 2 };
  const dependsOn = [{ containerName: "db", condition: "HEALTHY" as const }];
  let exitCode = 1;
  const scripts = { db: { exec: async () => exitCode } };
  const healthy = await start([pause, main("db", { healthCheck }), main("web", { dependsOn })], scripts);
  await healthy.rig.clock.advance(22_000);
  expect((await healthy.look()).containers?.map(({ healthStatus }) => healthStatus)).toEqual(["UNKNOWN", "UNHEALTHY", "UNKNOWN"]);
  expect(brief(await healthy.look())).toContain("web PENDING");
  exitCode = 0;
  await healthy.rig.clock.advance(6000);
  expect(brief(await healthy.look())).toContain("web RUNNING");

  exitCode = 1;
  const late = await start([pause, main("db", { healthCheck, startTimeout: 20 }), main("web", { dependsOn })], scripts);
  await late.rig.clock.advance(40_000);
  const [, , web] = (await late.look()).containers ?? [];
  expect([web?.lastStatus, web?.exitCode, web?.reason]).toEqual(["STOPPED", 143, expect.stringContaining("has timed out")]);
});

test("a task's health is that of its essential containers with a health check", async () => {
  let exitCode = 0;
  const { rig, look } = await start([{ name: "web", image: "nginx", healthCheck: { command: ["CMD", "true"], interval: 5, retries: 1 } }], {
    web: { exec: async () => exitCode },
  });
  await rig.clock.advance(12_000);
  expect((await look()).healthStatus).toBe("UNKNOWN");
  await rig.clock.advance(5000);
  expect((await look()).healthStatus).toBe("HEALTHY");
  exitCode = 1;
  await rig.clock.advance(5000);
  expect((await look()).healthStatus).toBe("UNHEALTHY");
  expect((await look()).lastStatus).toBe("RUNNING");
});

test("an essential container's end stops the others, those that depend on others first", async () => {
  const { rig, look } = await start(
    [
      { name: "web", image: "web" },
      main("db", { stopTimeout: 10 }),
      main("log", { stopTimeout: 10, dependsOn: [{ containerName: "db", condition: "START" }] }),
    ],
    { web: { exit: { afterMs: 5000, exitCode: 0 } }, db: { onTerminate: { afterMs: 1000, exitCode: 5 } }, log: { onTerminate: "ignore" } },
  );
  await rig.clock.advance(16_000);
  expect(brief(await look())).toBe("STOPPING/STOPPED: web STOPPED 0, db RUNNING, log RUNNING");
  await rig.clock.advance(10_500);
  expect(brief(await look())).toContain("log STOPPED 137");
  await rig.clock.advance(6000);
  expect(brief(await look())).toBe("STOPPED/STOPPED: web STOPPED 0, db STOPPED 5, log STOPPED 137");
});

test("a restart policy restarts a container only once it has run for its period, and never on ignored codes", async () => {
  const restartPolicy = { enabled: true, restartAttemptPeriod: 60, ignoredExitCodes: [0] };
  const { rig, look } = await start(
    [pause, main("long", { restartPolicy }), main("short", { restartPolicy }), main("done", { restartPolicy })],
    {
      long: [{ exit: { afterMs: 70_000, exitCode: 1 } }, { exit: { afterMs: 30_000, exitCode: 2 } }],
      short: { exit: { afterMs: 59_000, exitCode: 3 } },
      done: { exit: { afterMs: 70_000, exitCode: 0 } },
    },
  );
  await rig.clock.advance(90_000);
  expect(brief(await look())).toBe("RUNNING/RUNNING: pause RUNNING, long RUNNING, short STOPPED 3, done STOPPED 0");
  expect(onlyGroup(rig).runs.map(({ spec }) => `${spec.name} ${spec.attempt}`)).toEqual([
    "pause 0",
    "long 0",
    "short 0",
    "done 0",
    "long 1",
  ]);
  await rig.clock.advance(30_000);
  expect(brief(await look())).toContain("long STOPPED 2");
});

test.each<[string, RunScript, object]>([
  [
    "an image that cannot be pulled",
    { refused: { why: "image", message: "pull access denied for web" } },
    {
      stopCode: "TaskFailedToStart",
      stoppedReason: "CannotPullContainerError: pull access denied for web",
      containers: [{ lastStatus: "STOPPED", reason: "CannotPullContainerError: pull access denied for web" }],
    },
  ],
  [
    "a command that cannot be run",
    { refused: { why: "start", message: "exec: no such file" } },
    { stopCode: "TaskFailedToStart", stoppedReason: "CannotStartContainerError: exec: no such file" },
  ],
  [
    "too much memory used",
    { exit: { afterMs: 1000, exitCode: 137, isOutOfMemory: true } },
    {
      stopCode: "EssentialContainerExited",
      containers: [{ exitCode: 137, reason: "OutOfMemoryError: Container killed due to memory usage" }],
    },
  ],
])("the end of a task after %s", async (_why, script, expected) => {
  const { rig, look } = await start([{ name: "web", image: "web" }], { web: script });
  await rig.clock.advance(60_000);
  expect(await look()).toMatchObject({ lastStatus: "STOPPED", ...expected });
});

test("a secret or a log group that does not exist ends the task before its containers", async () => {
  const logConfiguration = {
    logDriver: "awslogs" as const,
    options: { "awslogs-group": "none", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "p" },
  };
  for (const [container, reason] of [
    [{ name: "web", image: "web", secrets: [{ name: "A", valueFrom: "arn:aws:secretsmanager:none" }] }, "unable to pull secrets"],
    [{ name: "web", image: "web", logConfiguration }, "The specified log group does not exist"],
  ] as const) {
    const { rig, look } = await start([{ ...container, secrets: "secrets" in container ? [...container.secrets] : [] }]);
    await rig.clock.advance(60_000);
    const task = await look();
    expect([task.lastStatus, task.stopCode, task.stoppedReason]).toEqual([
      "STOPPED",
      "TaskFailedToStart",
      expect.stringMatching(new RegExp(`^ResourceInitializationError: .*${reason}`)),
    ]);
    expect(task.containers?.[0]?.exitCode).toBeUndefined();
  }
});

test("environment: definition, then overrides, then secrets; commands and mounts as given", async () => {
  const { rig } = await start(
    [
      {
        name: "web",
        image: "web",
        entryPoint: ["sh", "-c"],
        command: ["old"],
        environment: [
          { name: "A", value: "1" },
          { name: "B", value: "1" },
        ],
        secrets: [{ name: "C", valueFrom: "arn:aws:secretsmanager:c" }],
        mountPoints: [{ sourceVolume: "data", containerPath: "/data", readOnly: true }],
        workingDirectory: "/srv",
        user: "1000:1000",
      },
    ],
    {},
    {
      definition: { volumes: [{ name: "data" }] },
      run: { overrides: { containerOverrides: [{ name: "web", command: ["new"], environment: [{ name: "B", value: "2" }] }] } },
      prepare: ({ aws }) => aws.secrets.set("arn:aws:secretsmanager:c", "hidden"),
    },
  );
  await rig.clock.advance(15_000);
  const [run] = onlyGroup(rig).runs;
  expect(run?.spec).toMatchObject({
    entrypoint: ["sh", "-c"],
    command: ["new"],
    environment: { A: "1", B: "2", C: "hidden" },
    workingDirectory: "/srv",
    user: "1000:1000",
    mounts: [{ volume: "data", path: "/data", isReadOnly: true }],
  });
});

test.each<[string, (started: Started) => Promise<unknown>, object]>([
  [
    "by somebody else",
    ({ rig, arn }) => rig.ecs.send(new StopTaskCommand({ task: arn })),
    { stopCode: "UserInitiated", stoppedReason: "Task stopped by user" },
  ],
  [
    "by a Spot interruption",
    async ({ rig }) => rig.aws.tasks.interruptSpot(rig.aws.tasks.all[0]!),
    { stopCode: "SpotInterruption", stoppedReason: "Your Spot Task was interrupted." },
  ],
])("a running task is stopped %s, with its stop timeout", async (_how, stop, expected) => {
  const run = { launchType: undefined, capacityProviderStrategy: [{ capacityProvider: "FARGATE_SPOT", weight: 1 }] };
  const started = await start(
    [{ name: "web", image: "web", stopTimeout: 60 }],
    { web: { onTerminate: { afterMs: 50_000, exitCode: 4 } } },
    { run },
  );
  await started.rig.clock.advance(20_000);
  expect((await started.look()).capacityProviderName).toBe("FARGATE_SPOT");
  await stop(started);
  await started.rig.clock.advance(49_000);
  expect(brief(await started.look())).toBe("STOPPING/STOPPED: web RUNNING");
  await started.rig.clock.advance(10_000);
  expect(await started.look()).toMatchObject({ lastStatus: "STOPPED", containers: [{ exitCode: 4 }], ...expected });
});

test.each([1000, 9000, 10_500])("a task that is stopped %i ms after RunTask has containers without exit codes", async (ms) => {
  const { rig, arn, look } = await start([{ name: "web", image: "web" }], { web: { pullMs: 4000 } });
  await rig.clock.advance(ms);
  await rig.ecs.send(new StopTaskCommand({ task: arn, reason: "early" }));
  await rig.clock.advance(30_000);
  const task = await look();
  expect([brief(task), task.stopCode, task.startedAt]).toEqual(["STOPPED/STOPPED: web STOPPED", "UserInitiated", undefined]);
});

test("each change raises the version", async () => {
  const { rig, look } = await start([{ name: "web", image: "web" }]);
  const versions: number[] = [];
  for (let count = 0; count < 3; count++) {
    versions.push((await look()).version ?? 0);
    await rig.clock.advance(9000);
  }
  expect(versions).toEqual([...new Set(versions)].sort((one, other) => one - other));
  const still = (await look()).version;
  await rig.clock.advance(60_000);
  expect((await look()).version).toBe(still);
});

test("the output goes to a stream of the container and task, and is read after its ingestion", async () => {
  const options = { "awslogs-group": "/vk", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "pod", "awslogs-create-group": "true" };
  const { rig, arn } = await start([{ name: "web", image: "web", logConfiguration: { logDriver: "awslogs", options } }], {
    web: {
      lines: [
        { afterMs: 0, text: "one\n" },
        { afterMs: 0, text: "\n" },
        { afterMs: 1000, text: "two\n" },
        { afterMs: 1000, text: `${"x".repeat(16_383)}é\n` },
      ],
    },
  });
  const logStreamName = `pod/web/${arn.split("/").at(-1)}`;
  const read = async (): Promise<readonly (string | undefined)[]> => {
    const { events = [] } = await rig.logs.send(new GetLogEventsCommand({ logGroupName: "/vk", logStreamName, startFromHead: true }));
    return events.map(({ message }) => message);
  };
  await rig.clock.advance(9900);
  await expect(read()).rejects.toThrow(expect.objectContaining({ name: "ResourceNotFoundException" }));
  await rig.clock.advance(1000);
  expect(await read()).toEqual([]);
  await rig.clock.advance(1500);
  expect(await read()).toEqual(["one"]);
  await rig.clock.advance(2000);
  const [, two, long, rest] = await read();
  expect([two, long?.length, rest]).toEqual(["two", 16_384, "\u{fffd}"]);
});
