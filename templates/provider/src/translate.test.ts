import type { Pod, ResolvedPod } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { Job } from "./job.ts";
import { toJobSpec, toOwner, toRef, toStatus } from "./translate.ts";

const { signal } = new AbortController();
const pod: Pod = {
  metadata: { namespace: "shop", name: "web", uid: "u-1" },
  spec: { containers: [{ name: "main", image: "busybox" }] },
};
const job: Job = {
  id: "u-1",
  container: "main",
  image: "busybox",
  tags: { clusterId: "c1", nodeName: "n1", namespace: "shop", name: "web" },
  createdAt: "2026-01-01T00:00:00Z",
};

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

test("a pod becomes a job of its UID, with its command, its environment and whose it is", async () => {
  expect(await toJobSpec(pod, resolved(["sleep", "1"], { A: "b" }), { clusterId: "c1", nodeName: "n1" }, signal)).toEqual({
    id: "u-1",
    container: "main",
    image: "busybox",
    command: ["sleep", "1"],
    env: { A: "b" },
    tags: { clusterId: "c1", nodeName: "n1", namespace: "shop", name: "web" },
  });
});

test("a container without a command is refused, and the message says what to do", async () => {
  const refusal = await toJobSpec(pod, resolved([]), { clusterId: "c1", nodeName: "n1" }, signal).catch(messageOf);

  expect(refusal).toEqual("container main has no command; set it to the program to run");
});

test("a job's tags say whose pod it is", () => {
  expect(toRef(job)).toEqual({ namespace: "shop", name: "web", uid: "u-1" });
  expect(toOwner(job)).toEqual({ clusterId: "c1", nodeName: "n1" });
});

for (const [exitCode, phase, ready] of [
  [undefined, "Running", true],
  [0, "Succeeded", false],
  [3, "Failed", false],
] as const) {
  test(`a job that ended with ${exitCode} is a pod that is ${phase}`, () => {
    const ended = exitCode === undefined ? undefined : { exitCode, finishedAt: "2026-01-01T00:01:00Z" };
    const status = toStatus({ ...job, ended });
    const [container] = status.containerStatuses ?? [];

    expect([status.phase, container?.name, container?.ready, container?.restartCount]).toEqual([phase, "main", ready, 0]);
  });
}
