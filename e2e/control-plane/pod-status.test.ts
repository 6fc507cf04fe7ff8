import { isConflict } from "@virtual-kubelet/errdefs";
import { createHttpTransport, createKubeClient } from "@virtual-kubelet/kube-client";
import { openControlPlane } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { isOtherPod, podStatusPatch } from "../../packages/core/src/pod/status/pod-status-patch.ts";
import { derivePodStatus, endedStatus, rejectedStatus } from "../../packages/core/src/pod/status/pod-status.ts";
import { withoutDeviceHealth } from "../../packages/core/src/test-support/pod-arbitraries.ts";
import { keepsDeviceHealth } from "../support/kubernetes-version.ts";
import { StatusWrites } from "../support/status-writes.ts";

const shared = openControlPlane(inject("controlPlane"));
const { credentials: pair } = shared.target;
if (!pair || !("certificate" in pair)) throw new Error("the administrator's credentials must be a client certificate");
const tls = { ca: shared.caCertificate, certificate: pair.certificate, key: pair.key };
const transport = createHttpTransport({ credentials: { server: shared.server, current: async () => ({ tls }), refresh: async () => {} } });
const writes = new StatusWrites(createKubeClient(transport), "pod-status");
const { startMs, hostIPs } = writes;

beforeAll(async () => {
  await shared.kubectl(["create", "namespace", "pod-status"]);
  await shared.kubectl(["create", "serviceaccount", "default", "-n", "pod-status"]);
});
afterAll(() => transport[Symbol.asyncDispose]());

const running = {
  name: "app",
  image: "app:1",
  imageID: "",
  ready: true,
  restartCount: 0,
  state: { running: { startedAt: "2026-05-01T11:00:00.5Z" } },
};

describe("a pod's status on a real API server", () => {
  test("has the wanted content after one patch, with conditions in a kubelet's order", async () => {
    const pod = await writes.createPod();

    const written = await writes.write(pod, writes.derive(pod, { podIP: "10.0.0.1", containerStatuses: [running] }));

    expect(written.status).toMatchObject({
      phase: "Running",
      podIP: "10.0.0.1",
      hostIP: "192.0.2.1",
      observedGeneration: 1,
      qosClass: "BestEffort",
    });
    expect(written.status?.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ["PodReadyToStartContainers", "True"],
      ["Initialized", "True"],
      ["Ready", "True"],
      ["ContainersReady", "True"],
      ["PodScheduled", "True"],
    ]);
    expect(
      podStatusPatch(written, writes.derive(written, { podIP: "10.0.0.1", containerStatuses: [running] }, startMs + 60_000)),
    ).toBeUndefined();
  });

  test("can change its addresses and their order, and lose them", async () => {
    let pod = await writes.createPod();
    for (const ips of [["10.0.0.1", "fd00::1"], ["fd00::1", "10.0.0.1"], ["fd00::2", "10.0.0.1"], ["10.0.0.2"], []]) {
      const [podIP] = ips;
      pod = await writes.write(pod, writes.derive(pod, { podIP, podIPs: ips.map((ip) => ({ ip })), containerStatuses: [running] }));

      expect(pod.status?.podIPs?.map(({ ip }) => ip) ?? []).toEqual(ips);
      expect(pod.status?.podIP).toBe(podIP);
    }
  });

  test("keeps the conditions of others, and loses its own when they no longer apply", async () => {
    const created = await writes.createPod();
    const pod = await writes.write(created, writes.derive(created, { containerStatuses: [running] }));
    const body = { conditions: [{ type: "example.com/theirs", status: "True", lastTransitionTime: "2026-05-01T10:00:00Z" }] };
    const theirs = await writes.writeOther(pod, body);
    const failed = { type: "ProviderUpdateFailed", status: "True", reason: "NoRoom", message: "no room" };
    const input = { reported: { containerStatuses: [running] }, hostIPs, nowMs: startMs };

    // Derived from the earlier pod: the patch must not remove what was added since then.
    const asserted = await writes.write(pod, derivePodStatus({ ...input, pod, conditions: [failed] }));
    const dropped = await writes.write(asserted, derivePodStatus({ ...input, pod: asserted }));

    expect(theirs.status?.conditions?.map(({ type }) => type)).toContain("example.com/theirs");
    expect(asserted.status?.conditions?.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["example.com/theirs", "ProviderUpdateFailed", "Ready"]),
    );
    expect(dropped.status?.conditions?.map(({ type }) => type)).toEqual([
      "example.com/theirs",
      "PodReadyToStartContainers",
      "Initialized",
      "Ready",
      "ContainersReady",
      "PodScheduled",
    ]);
  });

  test("is refused if it changes the phase of a pod that was changed in the meantime", async () => {
    const pod = await writes.createPod();
    await writes.writeOther(pod, { phase: "Failed", reason: "Evicted" });

    const refused: unknown = await writes.write(pod, writes.derive(pod, { containerStatuses: [running] })).catch((error: unknown) => error);

    expect(isConflict(refused)).toBe(true);
    expect((await writes.read(pod)).status).toMatchObject({ phase: "Failed", reason: "Evicted" });
  });

  test("is refused for a pod that was created again under the same name", async () => {
    const pod = await writes.createPod();
    const stale = { ...pod, metadata: { ...pod.metadata, uid: "00000000-0000-4000-8000-000000000000" } };

    const refused: unknown = await writes
      .write(stale, writes.derive(stale, { containerStatuses: [running] }))
      .catch((error: unknown) => error);

    expect(isOtherPod(refused)).toBe(true);
  });

  test("can become final from any phase, and then stays", async () => {
    const pod = await writes.createPod({ restartPolicy: "Never" });
    const up = await writes.write(pod, writes.derive(pod, { podIP: "10.0.0.1", containerStatuses: [running] }));

    const ended = await writes.write(up, endedStatus(up, { reason: "ProviderLost", message: "gone", hostIPs, nowMs: startMs }));

    expect(ended.status).toMatchObject({
      phase: "Failed",
      reason: "ProviderLost",
      podIP: "10.0.0.1",
      containerStatuses: [{ state: { terminated: { exitCode: 137 } } }],
    });
    expect(podStatusPatch(ended, writes.derive(ended, { containerStatuses: [running] }, startMs + 60_000))).toBeUndefined();
  });

  test("of a rejected pod contains only the reason", async () => {
    const pod = await writes.createPod();

    const rejected = await writes.write(
      pod,
      rejectedStatus(pod, { reason: "OutOfpods", message: "Pod was rejected: full", nowMs: startMs }),
    );

    expect(rejected.status).toEqual({
      phase: "Failed",
      reason: "OutOfpods",
      message: "Pod was rejected: full",
      qosClass: "BestEffort",
      startTime: "2026-05-01T12:00:00Z",
      observedGeneration: 1,
    });
  });

  test("is accepted and needs no second patch, for arbitrary reports in any order", async () => {
    await writes.writeArbitrary(keepsDeviceHealth(shared.version) ? undefined : withoutDeviceHealth);
  });
});
