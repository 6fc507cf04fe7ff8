import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import type { AttachIO, Pod, Provider, ProviderHost, ResolvedPod } from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { provider } from "@virtual-kubelet/provider-fargate";
import { env } from "node:process";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ProcessHost } from "../support/container-host/process-host.ts";
import { canOpenTerminals } from "../zun/fake/container-process.ts";
import { FakeAws, firstKeys } from "./fake/fake-aws.ts";
import { usualTimings } from "./fake/tasks/task-timings.ts";

// Commands of the provider in processes with real terminals, over the fake's data channel.

const { signal } = new AbortController();
const ref = { namespace: "shop", name: "web", uid: "0a1b2c3d-0000-4000-8000-000000000000" };
const pod: Pod = {
  metadata: ref,
  spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image: "busybox", command: ["sleep", "600"] }] },
};
let aws: FakeAws;
let node: Provider;

const resolved: ResolvedPod = {
  environment: async () => [],
  commandLine: async () => ({ command: ["sleep", "600"], args: [] }),
  volume: async () => ({ files: [] }),
  watchVolume: () => {
    throw new Error("there are no volumes");
  },
  configMap: async () => ({}),
  secret: async () => ({}),
  serviceVariables: async () => [],
};

const host: ProviderHost = {
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
  resolvePod: () => resolved,
  findPod: () => pod,
  recordEvent() {},
};

describe.skipIf(!canOpenTerminals())("a command", () => {
  beforeAll(async () => {
    const timings = Object.fromEntries(Object.keys(usualTimings).map((name) => [name, 20])) as unknown as typeof usualTimings;
    aws = await FakeAws.start({ clock: systemClock, random: systemRandom, host: new ProcessHost(), timings, ingestionMs: 0 });
    aws.tasks.settings.visibleAfterMs = 0;
    env["AWS_ACCESS_KEY_ID"] = firstKeys.accessKeyId;
    env["AWS_SECRET_ACCESS_KEY"] = firstKeys.secretAccessKey;
    const parsed = provider.configSchema.safeParse({
      region: "us-east-1",
      subnets: ["subnet-1"],
      taskRoleArn: "arn:aws:iam::123456789012:role/task",
      ecsEndpoint: aws.endpoint,
      logsEndpoint: aws.endpoint,
    });
    if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
    node = await provider.create(host, parsed.data);
    node.notifyPods?.(() => {});
    await node.createPod(pod, resolved, signal);
  });

  afterAll(async () => {
    await node[Symbol.asyncDispose]?.();
    await aws[Symbol.asyncDispose]();
    delete env["AWS_ACCESS_KEY_ID"];
    delete env["AWS_SECRET_ACCESS_KEY"];
  });

  async function run(command: readonly string[], changes: Partial<AttachIO> = {}): Promise<{ exitCode: number; output: string }> {
    const stdout = new PassThrough();
    const output = text(stdout);
    const io = { stdin: undefined, stdout, stderr: undefined, tty: false, resizes: (async function* () {})(), ...changes };
    const result = await node.runInContainer?.(ref, "main", command, io, signal);
    stdout.end();
    return { exitCode: result?.exitCode ?? -1, output: await output };
  }

  test("runs as soon as the agent in the task does", async () => {
    await expect.poll(() => run(["true"]).catch(String)).toMatchObject({ exitCode: 0 });
  });

  test("has its output, byte for byte, and its exit code", async () => {
    expect(await run(["sh", "-c", "printf 'a\\nb\\000c\\r\\n'; exit 42"])).toEqual({ exitCode: 42, output: "a\nb\0c\r\n" });
  });

  test("has its arguments as they are", async () => {
    expect(await run(["printf", "%s|", "it's", 'a "b"', "$HOME", "", "x y"])).toEqual({ exitCode: 0, output: `it's|a "b"|$HOME||x y|` });
  });

  test("has its errors with its output", async () => {
    expect(await run(["sh", "-c", "echo bad >&2; exit 3"])).toEqual({ exitCode: 3, output: "bad\n" });
  });

  test("reads its input to the end, whatever is in it", async () => {
    const input = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7 + (index >> 8)) % 256));
    const stdout = new PassThrough();
    const chunks: Buffer[] = [];
    stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    const { exitCode } = await run(["cat"], { stdin: Readable.from([input]), stdout });

    expect(exitCode).toBe(0);
    expect(Buffer.concat(chunks).equals(input)).toBe(true);
  });

  test("with much output loses none of it", async () => {
    const { output } = await run(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done"]);

    expect(output).toBe(Array.from({ length: 20_000 }, (_, index) => `${index}\n`).join(""));
  });

  test("on a terminal has the terminal's size, and its input", async () => {
    const stdin = new PassThrough();
    const resizes = (async function* () {
      yield { width: 93, height: 31 };
    })();
    const running = run(["sh", "-c", "read line; stty size; echo got $line"], { tty: true, stdin, resizes });
    stdin.write("hello\n");

    expect((await running).output).toMatch(/31 93\r\ngot hello\r\n$/);
  });
});
