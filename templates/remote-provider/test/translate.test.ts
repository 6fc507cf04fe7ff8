import assert from "node:assert/strict";
import { test } from "node:test";
import { policyVerdict, type Pod, type ResolvedPod } from "@virtual-kubelet/core";
import { readTags, writeTags } from "@virtual-kubelet/remote-pods";
import { provider } from "../src/index.ts";
import type { Job } from "../src/jobs-api.ts";
import { toJobSpec, toObservation } from "../src/translate.ts";

const { signal } = new AbortController();
const identity = { ref: { namespace: "shop", name: "web", uid: "u-1" }, owner: { clusterId: "c1", nodeName: "n1" }, attempt: 0 };
const context = { identity, config: { region: "near" } };
const tags = { ...writeTags(identity), container: "main" };

function podWith(annotations: Readonly<Record<string, string>> = {}): Pod {
  return {
    metadata: { namespace: "shop", name: "web", uid: "u-1", annotations },
    spec: { containers: [{ name: "main", image: "busybox" }] },
  };
}

/** A pod whose references come to this. */
function resolved(command: readonly string[], env: Readonly<Record<string, string>> = {}): ResolvedPod {
  return {
    commandLine: async () => ({ command, args: [] }),
    environment: async () => Object.entries(env).map(([name, value]) => ({ name, value })),
    volume: async () => ({ files: [] }),
    async *watchVolume() {},
    configMap: async () => ({}),
    secret: async () => ({}),
    serviceVariables: async () => [],
  };
}

test("a pod becomes a job named by its UID, with its command, its environment and whose it is", async () => {
  assert.deepEqual(await toJobSpec(podWith(), resolved(["sleep", "1"], { A: "b" }), context, signal), {
    name: "u-1",
    region: "near",
    image: "busybox",
    command: ["sleep", "1"],
    env: { A: "b" },
    tags,
  });
});

test("a container without a command is refused, and the message says what to do", async () => {
  await assert.rejects(toJobSpec(podWith(), resolved([]), context, signal), {
    code: "VK_INVALID_INPUT",
    message: "container main has no command; set it to the program to run",
  });
});

test("a pod chooses its region only among those that the policy allows", async () => {
  const pod = podWith({ "jobs.example.com/region": "far" });
  const verdict = (annotations: object): string => {
    const parsed = provider.configSchema.safeParse({ policy: { annotations } });
    assert.ok(parsed.success);
    return policyVerdict(pod, provider.policy?.(parsed.data) ?? {}, { annotations: provider.policyAnnotations }).kind;
  };

  assert.equal(verdict({}), "refused");
  assert.equal(verdict({ "jobs.example.com/region": ["far"] }), "allowed");
  assert.equal((await toJobSpec(pod, resolved(["true"]), context, signal)).region, "far");
});

test("a job becomes the pod that its tags name, and goes from Pending over Running to its end", () => {
  const createdAt = "2026-01-01T00:00:00Z";
  const queued: Job = { id: "job-1", image: "busybox", tags, createdAt };
  const running = { ...queued, startedAt: createdAt, address: "192.0.2.7" };
  const ended = (exitCode: number): Job => ({ ...running, ended: { exitCode, finishedAt: "2026-01-01T00:01:00Z" } });

  assert.deepEqual(readTags(queued.tags, identity.owner), { kind: "pod", identity });
  assert.deepEqual(
    [queued, running, ended(0), ended(3)].map((job) => toObservation(job).status.phase),
    ["Pending", "Running", "Succeeded", "Failed"],
  );
  assert.equal(toObservation(ended(3)).status.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
});
