import { systemClock } from "@virtual-kubelet/clock";
import { podRef, type Provider } from "@virtual-kubelet/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PretendHost } from "../support/container-host/pretend-host.ts";
import type { RunScript } from "../support/container-host/run-script.ts";
import { resolverOf } from "../zun/support.ts";
import { RealTimeFargate, textOf, withLogs } from "./support/real-time-fargate.ts";

// The provider, with the SDK's own chain of credentials, on the fake in real time, with short steps.

const { signal } = new AbortController();
let scripts: Record<string, RunScript>;
let fargate: RealTimeFargate;
let node: Provider;

beforeEach(async () => {
  scripts = {};
  fargate = await RealTimeFargate.start(new PretendHost({ clock: systemClock, script: ({ name }) => scripts[name] ?? {} }), withLogs);
  node = await fargate.open();
});
afterEach(() => fargate[Symbol.asyncDispose]());

const main = { name: "main", image: "nginx:1.29" };

test("a pod runs, has an address, is deleted, and its task definition stays for the next", async () => {
  const pod = await fargate.create(node, { containers: [main] });
  await expect.poll(() => fargate.statusOf(pod)?.phase).toBe("Running");
  expect(fargate.statusOf(pod)).toMatchObject({
    podIP: expect.stringMatching(/^\d+\./),
    containerStatuses: [{ name: "main", ready: true }],
  });

  await node.deletePod(podRef(pod), { gracePeriodSeconds: 30 }, signal);
  await expect.poll(() => fargate.isGone(pod) || fargate.statusOf(pod)?.containerStatuses?.[0]?.state?.terminated !== undefined).toBe(true);
  await fargate.create(node, { containers: [main] }, { name: "web-2" });

  expect(fargate.aws.rates.counts.get("RegisterTaskDefinition")).toBe(1);
  expect(fargate.aws.rates.counts.get("RunTask")).toBe(2);
});

test("a pod of several containers, with init containers and files, ends with the exit codes of all", async () => {
  scripts["vk-files"] = { exit: { afterMs: 10, exitCode: 0 } };
  scripts["setup"] = { exit: { afterMs: 10, exitCode: 0 } };
  scripts["main"] = { exit: { afterMs: 100, exitCode: 0 }, lines: [{ afterMs: 5, text: "hello\n" }] };
  scripts["side"] = { exit: { afterMs: 50, exitCode: 7 } };
  const volumeMounts = [{ name: "settings", mountPath: "/etc/app" }];
  const spec = {
    restartPolicy: "Never",
    initContainers: [{ name: "setup", image: "busybox" }],
    containers: [
      { ...main, volumeMounts },
      { name: "side", image: "busybox" },
    ],
    volumes: [{ name: "settings", configMap: { name: "settings" } }],
  };
  const pod = await fargate.create(node, spec, { files: { colour: "blue" } });
  await expect.poll(() => fargate.statusOf(pod)?.phase).toBe("Failed");

  expect(fargate.statusOf(pod)).toMatchObject({
    initContainerStatuses: [{ name: "setup", state: { terminated: { exitCode: 0 } } }],
    containerStatuses: [
      { name: "main", state: { terminated: { exitCode: 0, reason: "Completed" } } },
      { name: "side", state: { terminated: { exitCode: 7, reason: "Error" } } },
    ],
  });
  const options = { follow: false, previous: false, timestamps: false };
  const logs = await node.getContainerLogs?.(podRef(pod), "main", options, signal);
  expect(logs && (await textOf(logs))).toMatch(/hello\n$/);
});

test("a program that starts again finds its pods, also those that have ended, and starts none twice", async () => {
  scripts["main"] = { exit: { afterMs: 50, exitCode: 3 } };
  const pod = await fargate.create(node, { restartPolicy: "Never", containers: [main] });
  await expect.poll(() => fargate.statusOf(pod)?.phase).toBe("Failed");
  await node[Symbol.asyncDispose]?.();
  const next = await fargate.open();

  const { pods: found, complete } = await next.getPods(signal);
  expect(complete).toBe(true);
  expect(found).toMatchObject([{ ref: podRef(pod), status: { phase: "Failed" } }]);
  await next.createPod(pod, resolverOf(pod), signal);
  expect(fargate.aws.tasks.all).toHaveLength(1);
});

test("tasks of others are neither listed nor touched", async () => {
  const pod = await fargate.create(node, { containers: [main] });
  await expect.poll(() => fargate.statusOf(pod)?.phase).toBe("Running");
  const [task] = fargate.aws.tasks.all;
  const other = await fargate.open({ nodeName: "fargate-2" });
  expect(await other.getPods(signal)).toEqual({ pods: [], complete: true });
  await expect(other.deletePod(podRef(pod), { gracePeriodSeconds: 0 }, signal)).rejects.toMatchObject({ code: "VK_NOT_FOUND" });
  expect(task?.desiredStatus).toBe("RUNNING");
});
