import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import type {
  ContainerLogs,
  Pod,
  PodEvent,
  PodUpdate,
  Provider,
  ProviderHost,
  ProviderPodStatus,
  ResolvedPod,
} from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { provider } from "@virtual-kubelet/provider-fargate";
import { env } from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PretendHost } from "../support/container-host/pretend-host.ts";
import type { RunScript } from "../support/container-host/run-script.ts";
import { FakeAws, firstKeys } from "./fake/fake-aws.ts";
import { usualTimings } from "./fake/tasks/task-timings.ts";

// The provider, with the SDK's own chain of credentials, on the fake in real time, with short steps.

const { signal } = new AbortController();
const scripts: Record<string, RunScript> = {};
const pods = new Map<string, Pod>();
const updates: PodUpdate[] = [];
const events: PodEvent[] = [];
let aws: FakeAws;
let node: Provider;

beforeEach(async () => {
  for (const name of Object.keys(scripts)) delete scripts[name];
  pods.clear();
  updates.length = 0;
  events.length = 0;
  const fast = Object.fromEntries(Object.keys(usualTimings).map((name) => [name, 20])) as unknown as typeof usualTimings;
  const host = new PretendHost({ clock: systemClock, script: ({ name }) => scripts[name] ?? {} });
  aws = await FakeAws.start({ clock: systemClock, random: systemRandom, host, timings: fast, ingestionMs: 0 });
  aws.tasks.settings.visibleAfterMs = 0;
  env["AWS_ACCESS_KEY_ID"] = firstKeys.accessKeyId;
  env["AWS_SECRET_ACCESS_KEY"] = firstKeys.secretAccessKey;
  node = await provider.create(hostOf(), configOf() as never);
  node.notifyPods?.((update) => {
    updates.push(update);
  });
});

afterEach(async () => {
  await node[Symbol.asyncDispose]?.();
  await aws[Symbol.asyncDispose]();
  delete env["AWS_ACCESS_KEY_ID"];
  delete env["AWS_SECRET_ACCESS_KEY"];
});

function configOf(): unknown {
  const parsed = provider.configSchema.safeParse({
    region: "us-east-1",
    subnets: ["subnet-1"],
    executionRoleArn: "arn:aws:iam::123456789012:role/execution",
    taskRoleArn: "arn:aws:iam::123456789012:role/task",
    logGroup: "/ecs/pods",
    createLogGroup: true,
    ecsEndpoint: aws.endpoint,
    logsEndpoint: aws.endpoint,
  });
  if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
  return parsed.data;
}

function hostOf(): ProviderHost {
  return {
    nodeName: "fargate-1",
    clusterId: "c1",
    nodeAddress: undefined,
    clusterDomain: "cluster.local",
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: systemRandom,
    getSecret: () => Promise.reject(new Error("no secrets")),
    getConfigMap: () => Promise.reject(new Error("no config maps")),
    getServiceAccountToken: () => Promise.reject(new Error("no tokens")),
    resolvePod: ({ uid }) => resolve(pods.get(uid)),
    findPod: ({ uid }) => pods.get(uid),
    recordEvent: (_ref, event) => void events.push(event),
  };
}

function resolve(pod: Pod | undefined): ResolvedPod {
  const { containers = [], initContainers = [] } = pod?.spec ?? {};
  const find = (name: string): (typeof containers)[number] | undefined =>
    [...containers, ...initContainers].find((each) => each.name === name);
  return {
    environment: async (name) => (find(name)?.env ?? []).map(({ name: key, value = "" }) => ({ name: key, value })),
    commandLine: async (name) => ({ command: find(name)?.command ?? [], args: find(name)?.args ?? [] }),
    volume: async () => ({ files: [{ path: "colour", mode: 0o644, content: Buffer.from("blue") }] }),
    watchVolume: () => {
      throw new Error("files do not change");
    },
    configMap: async () => ({}),
    secret: async () => ({}),
    serviceVariables: async () => [],
  };
}

async function run(spec: NonNullable<Pod["spec"]>, name = "web"): Promise<Pod> {
  const pod: Pod = { metadata: { namespace: "shop", name, uid: systemRandom.uuid() }, spec };
  pods.set(pod.metadata?.uid ?? "", pod);
  await node.createPod(pod, resolve(pod), signal);
  return pod;
}

const refOf = ({ metadata }: Pod): { namespace: string; name: string; uid: string } => ({
  namespace: metadata?.namespace ?? "",
  name: metadata?.name ?? "",
  uid: metadata?.uid ?? "",
});

function lastStatus(pod: Pod): ProviderPodStatus | undefined {
  const update = updates.findLast(({ ref }) => ref.uid === pod.metadata?.uid);
  return update && "status" in update ? update.status : undefined;
}

const isGone = (pod: Pod): boolean => updates.some((update) => update.ref.uid === pod.metadata?.uid && "gone" in update);

async function text({ data }: ContainerLogs): Promise<string> {
  let all = "";
  for await (const chunk of data) all += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
  return all;
}

const main = { name: "main", image: "nginx:1.29" };

test("a pod runs, has an address, is deleted, and its task definition stays for the next", async () => {
  const pod = await run({ containers: [main] });
  await expect.poll(() => lastStatus(pod)?.phase).toBe("Running");
  expect(lastStatus(pod)).toMatchObject({ podIP: expect.stringMatching(/^\d+\./), containerStatuses: [{ name: "main", ready: true }] });

  await node.deletePod(refOf(pod), { gracePeriodSeconds: 30 }, signal);
  await expect.poll(() => isGone(pod) || lastStatus(pod)?.containerStatuses?.[0]?.state?.terminated !== undefined).toBe(true);
  await run({ containers: [main] }, "web-2");

  expect(aws.rates.counts.get("RegisterTaskDefinition")).toBe(1);
  expect(aws.rates.counts.get("RunTask")).toBe(2);
});

test("a pod of several containers, with init containers and files, ends with the exit codes of all", async () => {
  scripts["vk-files"] = { exit: { afterMs: 10, exitCode: 0 } };
  scripts["setup"] = { exit: { afterMs: 10, exitCode: 0 } };
  scripts["main"] = { exit: { afterMs: 100, exitCode: 0 }, lines: [{ afterMs: 5, text: "hello\n" }] };
  scripts["side"] = { exit: { afterMs: 50, exitCode: 7 } };
  const volumeMounts = [{ name: "settings", mountPath: "/etc/app" }];
  const pod = await run({
    restartPolicy: "Never",
    initContainers: [{ name: "setup", image: "busybox" }],
    containers: [
      { ...main, volumeMounts },
      { name: "side", image: "busybox" },
    ],
    volumes: [{ name: "settings", configMap: { name: "settings" } }],
  });
  await expect.poll(() => lastStatus(pod)?.phase).toBe("Failed");

  expect(lastStatus(pod)).toMatchObject({
    initContainerStatuses: [{ name: "setup", state: { terminated: { exitCode: 0 } } }],
    containerStatuses: [
      { name: "main", state: { terminated: { exitCode: 0, reason: "Completed" } } },
      { name: "side", state: { terminated: { exitCode: 7, reason: "Error" } } },
    ],
  });
  const options = { follow: false, previous: false, timestamps: false };
  const logs = await node.getContainerLogs?.(refOf(pod), "main", options, signal);
  expect(logs && (await text(logs))).toMatch(/hello\n$/);
});

test("a program that starts again finds its pods, also those that have ended, and starts none twice", async () => {
  scripts["main"] = { exit: { afterMs: 50, exitCode: 3 } };
  const pod = await run({ restartPolicy: "Never", containers: [main] });
  await expect.poll(() => lastStatus(pod)?.phase).toBe("Failed");
  await node[Symbol.asyncDispose]?.();
  node = await provider.create(hostOf(), configOf() as never);

  const { pods: found, complete } = await node.getPods(signal);
  expect(complete).toBe(true);
  expect(found).toMatchObject([{ ref: refOf(pod), status: { phase: "Failed" } }]);
  await node.createPod(pod, resolve(pod), signal);
  expect(aws.tasks.all).toHaveLength(1);
});

test("tasks of others are neither listed nor touched", async () => {
  const pod = await run({ containers: [main] });
  await expect.poll(() => lastStatus(pod)?.phase).toBe("Running");
  const [task] = aws.tasks.all;
  const other = await provider.create({ ...hostOf(), nodeName: "fargate-2" }, configOf() as never);
  try {
    expect(await other.getPods(signal)).toEqual({ pods: [], complete: true });
    await expect(other.deletePod(refOf(pod), { gracePeriodSeconds: 0 }, signal)).rejects.toMatchObject({ code: "VK_NOT_FOUND" });
  } finally {
    await other[Symbol.asyncDispose]?.();
  }
  expect(task?.desiredStatus).toBe("RUNNING");
});
