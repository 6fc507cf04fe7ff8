import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { controlGroupFolders, controlGroupOf } from "./support/control-groups.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { DockerNode, podTimeout } from "./support/docker-node.ts";

const api = sharedApi();
const patience = { timeoutMs: 300_000, intervalMs: 250 };
const Mi = 2 ** 20;
const isVersion2 = existsSync("/sys/fs/cgroup/cgroup.controllers");
let node: DockerNode;

interface PodView {
  readonly metadata: { readonly uid: string };
  readonly status: {
    readonly resources?: object;
    readonly allocatedResources?: object;
    readonly conditions: readonly { readonly type: string }[];
    readonly containerStatuses: readonly { readonly containerID: string; readonly restartCount: number; readonly ready: boolean }[];
  };
}

async function podOf(name: string): Promise<PodView> {
  return JSON.parse(await node.say("get", "pod", name, "-o", "json")) as PodView;
}

async function runs(name: string): Promise<PodView> {
  await node.say("wait", `pod/${name}`, "--for=condition=Ready", `--timeout=${podTimeout}`);
  return podOf(name);
}

interface Own {
  readonly requests?: object;
  readonly limits?: object;
}

/** A pod whose containers have these resources, with optional pod-level resources. */
function manifest(name: string, containers: readonly Own[], resources?: Own): string {
  const command = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"];
  const spec = {
    nodeName: node.name,
    terminationGracePeriodSeconds: 2,
    containers: containers.map((own, index) => ({ name: `c${index}`, image: "busybox:1.37", command, resources: own })),
    ...(resources && { resources }),
  };
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
}

/** Limits of a control group: CPU quota in thousandths of a CPU, CPU weight, and memory in bytes. */
async function limitsOf(path: string): Promise<{ readonly milliCpu: number; readonly weight: number; readonly bytes: number }> {
  const read = async (controller: string, file: string): Promise<string> =>
    (await readFile(join("/sys/fs/cgroup", isVersion2 ? "" : controller, path, file), "utf8")).trim();
  const quota = isVersion2 ? (await read("", "cpu.max")).split(" ")[0] : await read("cpu", "cpu.cfs_quota_us");
  const weight = isVersion2 ? await read("", "cpu.weight") : await read("cpu", "cpu.shares");
  const bytes = isVersion2 ? await read("", "memory.max") : await read("memory", "memory.limit_in_bytes");
  return { milliCpu: Number(quota) / 100, weight: Number(weight), bytes: Number(bytes) };
}

/** CPU weight of shares in the machine's version of cgroups. */
function weightOf(shares: number): number {
  return isVersion2 ? 1 + Math.floor(((shares - 2) * 9_999) / 262_142) : shares;
}

function groupOf(uid: string): string {
  return `${controlGroupOf(inject("dockerHost"))}/burstable/pod${uid}`;
}

beforeAll(async () => {
  node = await DockerNode.start("docker-cgroups");
});

afterAll(async () => {
  const ids = await api.containers({ [labelNames.node]: node.name });
  await Promise.all(ids.map((id) => api.remove(id)));
  await node[Symbol.asyncDispose]();
});

test("a pod's cgroup contains its sandbox and containers, follows their changes, and is removed with the pod under every controller", async () => {
  const one = (cpu: string, memory: string): Own => ({ requests: { cpu: "100m", memory: "16Mi" }, limits: { cpu, memory } });
  await node.apply(manifest("pair", [one("200m", "64Mi"), one("300m", "64Mi")]));
  const { metadata, status } = await runs("pair");
  const group = groupOf(metadata.uid);

  expect(await limitsOf(group)).toEqual({ milliCpu: 500, weight: weightOf(204), bytes: 128 * Mi });
  const [anywhere = ""] = controlGroupFolders(group);
  const members = (await readdir(anywhere, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  expect(members.sort()).toEqual((await api.containers({ [labelNames.podUid]: metadata.uid })).sort());

  // One container grows and one shrinks: the pod's quota is never below a container's, which cgroups version 1 refuses.
  const resized = [one("900m", "96Mi"), one("100m", "48Mi")].map((resources, index) => ({ name: `c${index}`, resources }));
  await node.say("patch", "pod", "pair", "--subresource", "resize", "--patch", JSON.stringify({ spec: { containers: resized } }));
  const [first = ""] = status.containerStatuses.map(({ containerID }) => containerID.replace("docker://", ""));
  await eventually(async () => {
    expect(await limitsOf(group)).toEqual({ milliCpu: 1000, weight: weightOf(204), bytes: 144 * Mi });
    expect(await limitsOf(`${group}/${first}`)).toMatchObject({ milliCpu: 900, bytes: 96 * Mi });
    expect((await podOf("pair")).status.conditions.map(({ type }) => type)).not.toContain("PodResizeInProgress");
  }, patience);
  expect((await podOf("pair")).status.containerStatuses).toMatchObject([{ restartCount: 0 }, { restartCount: 0 }]);

  await node.say("delete", "pod", "pair", `--timeout=${podTimeout}`);
  await eventually(() => expect(controlGroupFolders(group)).toEqual([]), { ...patience, describe: "the pod's cgroups to be gone" });
});

test("pod-level resources are shared by the containers, change in place, and survive a kill of the program", async () => {
  const whole = (cpu: string, memory: string): Own => ({ requests: { cpu: "250m", memory: "32Mi" }, limits: { cpu, memory } });
  await node.apply(manifest("whole", [{}, { limits: { memory: "32Mi" } }], whole("500m", "128Mi")));
  const { metadata, status } = await runs("whole");
  const group = groupOf(metadata.uid);
  const [first = ""] = status.containerStatuses.map(({ containerID }) => containerID.replace("docker://", ""));
  expect(await limitsOf(group)).toEqual({ milliCpu: 500, weight: weightOf(256), bytes: 128 * Mi });
  expect(await limitsOf(`${group}/${first}`)).toMatchObject({ milliCpu: 500, bytes: 128 * Mi });
  expect(status).toMatchObject({ resources: whole("500m", "128Mi"), allocatedResources: { cpu: "250m", memory: "32Mi" } });

  const resize = (...limits: [string, string]): Promise<string> =>
    node.say("patch", "pod", "whole", "--subresource", "resize", "--patch", JSON.stringify({ spec: { resources: whole(...limits) } }));
  await resize("1", "256Mi");
  await eventually(async () => {
    expect(await limitsOf(group)).toMatchObject({ milliCpu: 1000, bytes: 256 * Mi });
    expect(await limitsOf(`${group}/${first}`)).toMatchObject({ milliCpu: 1000, bytes: 256 * Mi });
    expect((await podOf("whole")).status).toMatchObject({
      resources: whole("1", "256Mi"),
      containerStatuses: status.containerStatuses.map(({ containerID }) => ({ containerID })),
    });
  }, patience);

  node.program.kill("SIGKILL");
  await node.program.exit;
  await resize("750m", "192Mi");
  expect(await limitsOf(group)).toMatchObject({ milliCpu: 1000, bytes: 256 * Mi });
  node.run();
  await eventually(async () => {
    expect(await limitsOf(group)).toMatchObject({ milliCpu: 750, bytes: 192 * Mi });
    expect(await limitsOf(`${group}/${first}`)).toMatchObject({ milliCpu: 750, bytes: 192 * Mi });
  }, patience);
  expect((await podOf("whole")).status.containerStatuses).toMatchObject([
    { restartCount: 0, ready: true },
    { restartCount: 0, ready: true },
  ]);

  await node.say("delete", "pod", "whole", `--timeout=${podTimeout}`);
  await eventually(() => expect(controlGroupFolders(group)).toEqual([]), { ...patience, describe: "the pod's cgroups to be gone" });
});
