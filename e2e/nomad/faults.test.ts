import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInvalidInput, isNotFound, isQuotaExceeded, isUnauthorized, isUnavailable } from "@virtual-kubelet/errdefs";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FakeCluster } from "./fake/cluster.ts";
import type { Json } from "./fake/state.ts";
import { container, forever, NomadRig } from "./nomad-rig.ts";

const { signal } = new AbortController();

let rig: NomadRig;
beforeEach(async () => {
  rig = await NomadRig.open();
});
afterEach(() => rig[Symbol.asyncDispose]());

async function reopen(config: object): Promise<void> {
  await rig[Symbol.asyncDispose]();
  rig = await NomadRig.open(config);
}

const allocationsOf = (ref: Parameters<NomadRig["jobId"]>[0]): number => rig.nomad.cluster.allocationsOf(rig.jobId(ref)).length;

describe("requests per pod", () => {
  test("a pod of one container without files costs three requests over its life", async () => {
    // The clients' cores are requested once for all pods.
    await rig.provider.configureNode?.(signal);
    rig.nomad.requests.length = 0;
    const ref = await rig.run();
    await rig.delete(ref);
    await rig.untilGone(ref);

    expect(rig.requestsFor(ref)).toEqual(["PUT /v1/jobs", "DELETE /v1/job/JOB", "DELETE /v1/job/JOB"]);
  });

  test("files cost one write and one delete per variable, and nothing remains of the pod", async () => {
    rig.setVolume("settings", { colour: "blue" });
    const pod = rig.pod({
      containers: [container(forever, { volumeMounts: [{ name: "settings", mountPath: "/s" }] })],
      volumes: [{ name: "settings", configMap: { name: "settings" } }],
    });
    await rig.provider.configureNode?.(signal);
    rig.nomad.requests.length = 0;
    const ref = await rig.run(pod);
    await rig.delete(ref);
    await rig.untilGone(ref);

    expect(rig.requestsFor(ref)).toEqual([
      "PUT /v1/var/nomad/jobs/JOB/pod",
      "PUT /v1/jobs",
      "DELETE /v1/job/JOB",
      "DELETE /v1/job/JOB",
      "DELETE /v1/var/nomad/jobs/JOB/pod",
    ]);
    expect([rig.nomad.cluster.state.jobs.size, rig.nomad.cluster.state.variables.size]).toEqual([0, 0]);
  });

  test("many pods share one list and one stream", async () => {
    await rig.provider.configureNode?.(signal);
    rig.nomad.requests.length = 0;
    await Promise.all(Array.from({ length: 10 }, () => rig.run()));

    expect(rig.nomad.requests.filter(({ method }) => method === "GET").length).toBeLessThanOrEqual(3);
  });
});

describe("an unreachable back end", () => {
  test("ping fails with the reason while Nomad is unreachable, and succeeds when it is back", async () => {
    rig.nomad.fault = () => "drop";
    await expect(rig.provider.ping?.(signal)).rejects.toSatisfy(isUnavailable);
    rig.nomad.fault = undefined;
    await rig.provider.ping?.(signal);
  });

  test("after a missing leader and a lost connection nothing is lost, and nothing runs twice", async () => {
    let failures = 0;
    rig.nomad.fault = ({ method, path }) =>
      method === "PUT" && path === "/v1/jobs" && failures++ < 1 ? { status: 500, text: "No cluster leader" } : undefined;
    const pod = rig.pod();
    await expect(rig.create(pod)).rejects.toSatisfy(isUnavailable);
    rig.nomad.fault = undefined;
    const ref = await rig.run(pod);
    rig.nomad.breakConnections();
    rig.nomad.cluster.deregister(rig.jobId(ref), false);

    await rig.until(ref, ({ phase, reason }) => expect([phase, reason]).toEqual(["Failed", "StoppedByNomad"]));
    expect(allocationsOf(ref)).toBe(1);
  });

  test("a lost response to a registration causes no second job", async () => {
    rig.nomad.fault = ({ method, path }) => (method === "PUT" && path === "/v1/jobs" ? "lose-reply" : undefined);
    const pod = rig.pod();
    await expect(rig.create(pod)).rejects.toSatisfy(isUnavailable);
    rig.nomad.fault = undefined;
    const ref = await rig.run(pod);

    expect(allocationsOf(ref)).toBe(1);
    expect((await rig.provider.getPods(signal)).pods).toHaveLength(1);
  });

  test("a truncated list is an error, and no pod is considered gone", async () => {
    const ref = await rig.run();
    rig.nomad.fault = ({ path }) => (path === "/v1/jobs" ? "cut" : undefined);
    await expect(rig.provider.getPods(signal)).rejects.toSatisfy(isUnavailable);
    rig.nomad.fault = undefined;

    expect((await rig.provider.getPods(signal)).pods.map((pod) => pod.ref)).toEqual([ref]);
    expect(rig.updates.some((update) => "gone" in update)).toBe(false);
  });
});

describe("permissions", () => {
  test("the error for a refused token says what to check", async () => {
    rig.nomad.tokens = new Set(["good"]);

    await expect(rig.provider.ping?.(signal)).rejects.toSatisfy(isUnauthorized);
    await expect(rig.create()).rejects.toThrow(/Permission denied; check the ACL token and its policy/);
  });

  test("a token file is read again when the token is refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), "vk-nomad-token-"));
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, "first\n");
    await reopen({ tokenFile });
    rig.nomad.tokens = new Set(["first"]);
    await rig.provider.ping?.(signal);
    writeFileSync(tokenFile, "second\n");
    rig.nomad.tokens = new Set(["second"]);

    const ref = await rig.run();
    expect(allocationsOf(ref)).toBe(1);
    rmSync(folder, { recursive: true });
  });

  test("blocking queries report changes when the event stream is refused", async () => {
    await rig.stop();
    rig.nomad.fault = ({ path }) => (path === "/v1/event/stream" ? { status: 403, text: "Permission denied" } : undefined);
    await rig.start();
    const blocking = (): boolean => rig.nomad.requests.some(({ path, query }) => path === "/v1/allocations" && query.has("wait"));
    await eventually(() => expect(blocking()).toBe(true));
    const ref = await rig.create(rig.pod({ containers: [container("sleep 1; exit 3")] }));

    await rig.until(ref, ({ phase }) => expect(phase).toBe("Failed"));
  });

  test("an exhausted quota is a QuotaExceededError, and an invalid job is refused for good", async () => {
    rig.nomad.fault = ({ path }) => (path === "/v1/jobs" ? { status: 500, text: "quota limit exceeded" } : undefined);
    await expect(rig.create()).rejects.toSatisfy(isQuotaExceeded);
    rig.nomad.fault = ({ path }) => (path === "/v1/jobs" ? { status: 500, text: "1 error occurred:\n\t* nope" } : undefined);
    await expect(rig.create()).rejects.toSatisfy(isInvalidInput);
  });

  test("ping names a namespace that Nomad does not have", async () => {
    await reopen({ namespace: "nowhere" });

    await expect(rig.provider.ping?.(signal)).rejects.toThrow(
      "namespace nowhere does not exist in Nomad; create it, or change namespace or namespaces",
    );
  });
});

test("a pod that Nomad refuses for good leaves no secret in Nomad", async () => {
  rig.setVolume("keys", { key: "s3cret" });
  const pod = rig.pod({
    containers: [container(forever, { volumeMounts: [{ name: "keys", mountPath: "/k" }] })],
    volumes: [{ name: "keys", secret: { secretName: "keys" } }],
  });
  rig.nomad.fault = ({ method, path }) =>
    method === "PUT" && path === "/v1/jobs" ? { status: 500, text: "1 error occurred:\n\t* nope" } : undefined;
  await expect(rig.create(pod)).rejects.toSatisfy(isInvalidInput);

  await eventually(() => expect(rig.nomad.cluster.state.variables.size).toBe(0));
});

describe("changes of a pod's job by others", () => {
  test("a pod whose job was purged is gone, and can be created again", async () => {
    const pod = rig.pod();
    const ref = await rig.run(pod);
    rig.nomad.cluster.deregister(rig.jobId(ref), true);
    await rig.untilGone(ref);

    await expect(rig.provider.getPod(ref, signal)).rejects.toSatisfy(isNotFound);
    await rig.run(pod);
  });

  test("a pod whose job is purged while the network is cut is gone as soon as Nomad responds again", async () => {
    const [ref, other] = [await rig.run(), await rig.run()];
    rig.nomad.fault = () => "drop";
    rig.nomad.breakConnections();
    rig.nomad.cluster.deregister(rig.jobId(ref), true);
    rig.nomad.fault = undefined;

    await rig.untilGone(ref);
    expect((await rig.provider.getPods(signal)).pods.map((pod) => pod.ref)).toEqual([other]);
    expect(rig.updates.some((update) => "gone" in update && update.ref.uid === other.uid)).toBe(false);
  });

  test("in a Nomad that was set up again all pods are gone, and can be created again", async () => {
    const pod = rig.pod();
    const ref = await rig.run(pod);
    rig.nomad.cluster.state.beginAnew();
    rig.nomad.breakConnections();
    await rig.untilGone(ref);

    await rig.run(pod);
    expect((await rig.provider.getPods(signal)).pods.map((each) => each.ref)).toEqual([ref]);
  });

  test.each([
    ["drain", "NodeDrained", (cluster: FakeCluster, jobId: string) => cluster.drain(jobId)],
    ["lose", "NodeLost", (cluster: FakeCluster, jobId: string) => cluster.lose(jobId)],
    [
      "alloc stop",
      "StoppedByNomad",
      (cluster: FakeCluster, jobId: string) => cluster.allocationsOf(jobId).forEach((each) => cluster.stopAlloc(each)),
    ],
  ])("after %s the pod is Failed with %s, its job is stopped, and it does not run again", async (_what, expected, go) => {
    const ref = await rig.run(rig.pod({ restartPolicy: "Always" }));
    go(rig.nomad.cluster, rig.jobId(ref));

    await rig.until(ref, ({ phase, reason }) => expect([phase, reason]).toEqual(["Failed", expected]));
    await eventually(() => expect(rig.nomad.cluster.state.jobs.get(rig.jobId(ref))?.["Stop"]).toBe(true));
    const alive = (): object[] =>
      rig.nomad.cluster
        .allocationsOf(rig.jobId(ref))
        .filter(({ ClientStatus }) => ClientStatus === "running" || ClientStatus === "pending");
    // A stopped job gets no new allocation; one that was placed just before must end.
    await eventually(() => expect(alive()).toEqual([]));
    await rig.delete(ref);
    await rig.untilGone(ref);
  });

  test("a copied job is not the pod: logs, status and deletion concern the pod's own job, and the copy is reported once and not touched", async () => {
    await reopen({ relist: "1s" });
    const ref = await rig.run(rig.pod({ containers: [container(`echo original; ${forever}`)] }));
    const job = rig.nomad.cluster.state.jobs.get(rig.jobId(ref)) ?? {};
    rig.nomad.cluster.register({ ...structuredClone(job), ID: "vk-copy" });
    await eventually(() => expect(rig.nomad.cluster.allocationsOf("vk-copy")[0]).toMatchObject({ ClientStatus: "running" }));
    await rig.stop();
    await rig.start();

    for (let time = 0; time < 2; time++) expect((await rig.provider.getPods(signal)).pods.map((pod) => pod.ref)).toEqual([ref]);
    const [original] = rig.nomad.cluster.allocationsOf(rig.jobId(ref));
    expect((await rig.provider.getPodStatus(ref, signal)).containerStatuses?.[0]?.containerID).toContain(String(original?.["ID"]));
    expect(rig.warnings.filter(({ job: id }) => id === "vk-copy")).toHaveLength(1);
    await rig.delete(ref);
    await rig.untilGone(ref);
    expect([...rig.nomad.cluster.state.jobs.keys()]).toEqual(["vk-copy"]);
    expect(rig.nomad.cluster.allocationsOf("vk-copy")[0]).toMatchObject({ ClientStatus: "running" });
  });

  test("a client that does not respond leaves the pod unchanged, except that it is not ready", async () => {
    const ref = await rig.run();
    rig.nomad.cluster.disconnect(rig.jobId(ref), true);
    await rig.until(ref, ({ phase, containerStatuses }) => expect([phase, containerStatuses?.[0]?.ready]).toEqual(["Running", false]));
    rig.nomad.cluster.disconnect(rig.jobId(ref), false);
    await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.ready).toBe(true));
  });

  test("a pod that fits on no client waits, with the reason in its status and in an event", async () => {
    const ref = await rig.create(rig.pod({ containers: [container(forever, { resources: { requests: { memory: "900Gi" } } })] }));

    await rig.until(ref, ({ phase, containerStatuses }) => {
      expect(phase).toBe("Pending");
      expect(containerStatuses?.[0]?.state?.waiting?.message).toMatch(/1 have too little memory$/);
    });
    expect(rig.events).toContainEqual(expect.objectContaining({ reason: "NomadUnplaced" }));
    await rig.delete(ref, 0);
    await rig.untilGone(ref);
  });

  test("changes are noticed after Nomad's indexes have gone back", async () => {
    await reopen({ relist: "1s" });
    const others = await Promise.all([rig.run(), rig.run(), rig.run(), rig.run()]);
    for (const other of others) await rig.delete(other);
    const ref = await rig.run(rig.pod({ containers: [container(rig.held(4))] }));
    await rig.provider.getPods(signal);
    rig.nomad.cluster.state.goBack();
    rig.nomad.requests.length = 0;
    rig.nomad.breakConnections();
    await eventually(() => expect(rig.nomad.requests.some(({ path }) => path === "/v1/event/stream")).toBe(true));
    rig.release();

    await rig.until(ref, ({ phase }) => expect(phase).toBe("Failed"));
    expect((await rig.provider.getPods(signal)).pods.map((pod) => pod.ref)).toEqual([ref]);
  });
});

describe("unreadable data", () => {
  test("is skipped and reported once, without effect on other pods, the node and the list of pods", async () => {
    const [broken, ref] = [await rig.run(), await rig.run()];
    const { state } = rig.nomad.cluster;
    const job = state.jobs.get(rig.jobId(broken)) ?? {};
    Object.assign(job, { Meta: { ...(job["Meta"] as object), "vk.shape": "{" } });
    state.allocs.set("bad", { ...rig.nomad.cluster.allocationsOf(rig.jobId(ref))[0], ID: "bad", ClientStatus: 7 });
    state.otherNodes.push({ ID: "bad-node", Status: "ready", Drain: "no" });
    await rig.stop();
    await rig.start();
    for (let time = 0; time < 2; time++) {
      const { pods, complete } = await rig.provider.getPods(signal);
      expect([pods.map((pod) => [pod.ref, pod.status.phase]), complete]).toEqual([[[ref, "Running"]], true]);
      expect((await rig.provider.configureNode?.(signal))?.capacity).toMatchObject({ cpu: "2" });
    }

    const named = rig.warnings.filter(({ why }) => why !== undefined);
    expect(named.map(({ text: _, ...fields }) => fields)).toEqual(
      expect.arrayContaining([
        { job: rig.jobId(broken), why: "its meta vk.shape is not JSON; somebody has changed it" },
        { allocation: "bad", why: expect.stringMatching(/^ClientStatus: /) },
        { node: "bad-node", why: expect.stringMatching(/^Name: /) },
      ]),
    );
    expect(named).toHaveLength(3);
    state.allocs.delete("bad");
  });

  test("a pod with an unreadable job is not considered gone, and can be deleted", async () => {
    const ref = await rig.run();
    const job = rig.nomad.cluster.state.jobs.get(rig.jobId(ref)) ?? {};
    Object.assign(job, { Meta: { ...(job["Meta"] as object), "vk.shape": `{ "version": 2 }` } });
    await rig.stop();
    await rig.start();

    await expect(rig.provider.getPod(ref, signal)).rejects.toThrow(/vk\.shape is of version 2, and this release reads version 1/);
    await rig.delete(ref);
    await rig.untilGone(ref);
    expect(rig.nomad.cluster.state.jobs.size).toBe(0);
  });

  test("an unreadable event is skipped, and the stream continues", async () => {
    const ref = await rig.run();
    const { state } = rig.nomad.cluster;
    const bad = { Topic: "Allocation", Type: "AllocationUpdated", Key: "bad", Namespace: "default", FilterKeys: null };
    state.write([], () => [
      { ...bad, Type: 7 } as unknown as typeof bad & { Payload: Json },
      { ...bad, Payload: { Allocation: { ID: "bad", JobID: rig.jobId(ref), Namespace: "default" } } },
    ]);
    const streams = rig.nomad.requests.filter(({ path }) => path === "/v1/event/stream").length;
    rig.nomad.cluster.disconnect(rig.jobId(ref), true);

    await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.ready).toBe(false));
    expect(rig.nomad.requests.filter(({ path }) => path === "/v1/event/stream")).toHaveLength(streams);
    expect(rig.warnings.filter(({ why }) => why !== undefined)).toHaveLength(2);
  });
});

describe("a container that cannot be started", () => {
  const unstartable = (): ReturnType<typeof container> => ({ name: "main", image: "busybox", command: [rig.tool] });
  const registrations = (): number => rig.nomad.requests.filter(({ method, path }) => method === "PUT" && path === "/v1/jobs").length;
  const phases = (): Set<string | undefined> =>
    new Set(rig.updates.map((update) => ("status" in update ? update.status.phase : undefined)));

  test.each(["Always", "OnFailure"] as const)(
    "waits under %s with a back-off, and its job is registered again until it starts: the pod never fails",
    async (restartPolicy) => {
      const ref = await rig.create(rig.pod({ restartPolicy, containers: [unstartable()] }));
      await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.restartCount).toBeGreaterThanOrEqual(2));
      // This lasted for a second only, which a busy machine may not see.
      const told = rig.updates.map((update) => ("status" in update ? update.status.containerStatuses?.[0] : undefined));
      expect(told.find((status) => status?.state?.waiting?.reason === "CrashLoopBackOff")).toMatchObject({
        restartCount: 0,
        state: { waiting: { message: expect.stringMatching(/^back-off 1s .*no such file or directory$/) } },
        lastState: { terminated: { exitCode: 128, reason: "StartError", message: expect.stringMatching(/no such file or directory$/) } },
      });
      expect(rig.nomad.cluster.state.jobs.size).toBe(1);
      expect(rig.events).toContainEqual(expect.objectContaining({ type: "Warning", reason: "BackOff" }));
      rig.install();

      await rig.until(ref, ({ phase, containerStatuses }) => {
        expect(phase).toBe("Running");
        expect(containerStatuses?.[0]).toMatchObject({
          ready: true,
          state: { running: {} },
          lastState: { terminated: { reason: "StartError" } },
        });
      });
      expect(registrations()).toBeGreaterThan(2);
      expect(allocationsOf(ref)).toBe(registrations());
      expect(phases()).not.toContain("Failed");
      expect(rig.nomad.cluster.state.jobs.get(rig.jobId(ref))).toMatchObject({ Stop: false });
      await rig.delete(ref);
      await rig.untilGone(ref);
      expect(rig.nomad.cluster.state.jobs.size).toBe(0);
    },
  );

  test("fails the pod under Never", async () => {
    const ref = await rig.create(rig.pod({ restartPolicy: "Never", containers: [unstartable()] }));

    await rig.until(ref, ({ phase, containerStatuses }) =>
      expect([phase, containerStatuses?.[0]?.state?.terminated?.reason]).toEqual(["Failed", "StartError"]),
    );
    expect(registrations()).toBe(1);
  });

  test("is started again after a restart of the program, and keeps its restart count", async () => {
    const ref = await rig.create(rig.pod({ restartPolicy: "Always", containers: [unstartable()] }));
    await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.restartCount).toBeGreaterThan(0));
    await rig.stop();
    rig.install();
    await rig.start();

    await rig.until(ref, ({ phase, containerStatuses }) => {
      expect([phase, containerStatuses?.[0]?.ready]).toEqual(["Running", true]);
      expect(containerStatuses?.[0]?.restartCount).toBeGreaterThan(0);
      expect(containerStatuses?.[0]?.lastState?.terminated?.reason).toBe("StartError");
    });
    await rig.stop();
    await rig.start();
    await rig.until(ref, ({ phase, containerStatuses }) => {
      expect(phase).toBe("Running");
      expect(containerStatuses?.[0]?.lastState?.terminated?.reason).toBe("StartError");
    });
    expect(rig.nomad.cluster.state.jobs.get(rig.jobId(ref))).toMatchObject({ Stop: false });
  });

  test("is not started a third time when the response to the second attempt was lost", async () => {
    let attempts = 0;
    rig.nomad.fault = ({ method, path }) => {
      if (method !== "PUT" || path !== "/v1/jobs" || ++attempts < 2) return undefined;
      rig.install();
      return "lose-reply";
    };
    const ref = await rig.create(rig.pod({ restartPolicy: "Always", containers: [unstartable()] }));

    await rig.until(ref, ({ phase, containerStatuses }) => expect([phase, containerStatuses?.[0]?.ready]).toEqual(["Running", true]));
    await eventually(() => expect(rig.warnings.some(({ work }) => work === `start ${rig.jobId(ref)} again`)).toBe(true));
    await rig.provider.getPods(signal);
    await rig.until(ref, ({ phase }) => expect(phase).toBe("Running"));
    expect([allocationsOf(ref), registrations()]).toEqual([2, 2]);
  });

  test("runs its init containers in their order again", async () => {
    const init = (name: string): ReturnType<typeof container> => container("true", { name });
    const pod = rig.pod({ restartPolicy: "Always", initContainers: [init("first"), init("second")], containers: [unstartable()] });
    const ref = await rig.create(pod);
    await eventually(() => expect(registrations()).toBeGreaterThanOrEqual(2));
    const gate = `/v1/var/nomad/jobs/${rig.jobId(ref)}/pod/second`;
    const steps = rig.nomad.requests.filter(({ path, method }) => path === gate || (path === "/v1/jobs" && method === "PUT"));
    rig.install();

    expect(steps.slice(0, 4).map(({ method, path }) => `${method} ${path === gate ? "gate" : "job"}`)).toEqual([
      "PUT job",
      "PUT gate",
      "DELETE gate",
      "PUT job",
    ]);
    await rig.until(ref, ({ phase, initContainerStatuses }) => {
      expect(phase).toBe("Running");
      expect(initContainerStatuses?.map(({ state }) => state?.terminated?.exitCode)).toEqual([0, 0]);
    });
  });

  test("is not started again after its pod is deleted", async () => {
    const ref = await rig.create(rig.pod({ restartPolicy: "Always", containers: [unstartable()] }));
    await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.state?.waiting?.reason).toBe("CrashLoopBackOff"));
    const before = registrations();
    await rig.delete(ref);
    await rig.untilGone(ref);

    expect(registrations()).toBe(before);
    expect(rig.nomad.cluster.state.jobs.size).toBe(0);
  });
});

describe("files and order", () => {
  test("a changed config map soon appears in the container's file, without a restart", async () => {
    rig.setVolume("settings", { colour: "blue" });
    const script = `while :; do cat local/volumes/settings/colour; echo; sleep 0.2; done`;
    const pod = rig.pod({
      containers: [container(script, { volumeMounts: [{ name: "settings", mountPath: "/s" }] })],
      volumes: [{ name: "settings", configMap: { name: "settings" } }],
    });
    const ref = await rig.run(pod);
    const written = async (): Promise<string> => {
      const logs = await rig.provider.getContainerLogs?.(ref, "main", { follow: false, previous: false, timestamps: false }, signal);
      let text = "";
      for await (const chunk of logs?.data ?? []) text += Buffer.from(chunk as Uint8Array).toString();
      return text;
    };
    await eventually(async () => expect(await written()).toMatch(/^blue\n/));
    rig.setVolume("settings", { colour: "red", added: "later" });

    await eventually(async () => expect(await written()).toMatch(/^blue\n[^]*red\n/));
    await rig.until(ref, ({ containerStatuses }) => expect(containerStatuses?.[0]?.restartCount).toBe(0));
  });

  test("with secrets: inline a warning says that the job shows the pod's secrets; otherwise the job does not show them", async () => {
    const contentOf = async (): Promise<{ readonly jobShows: boolean; readonly told: readonly string[] }> => {
      rig.setVolume("settings", { colour: "canary-blue" });
      const volumeMounts = [{ name: "settings", mountPath: "/s" }];
      const volumes = [{ name: "settings", configMap: { name: "settings" } }];
      const ref = await rig.create(rig.pod({ containers: [container(forever, { volumeMounts })], volumes }));
      const job = JSON.stringify(rig.nomad.cluster.state.jobs.get(rig.jobId(ref)));
      const jobShows = ["canary-blue", Buffer.from("canary-blue").toString("base64")].some((text) => job.includes(text));
      return { jobShows, told: rig.events.map(({ type, reason }) => `${type} ${reason}`) };
    };

    expect(await contentOf()).toEqual({ jobShows: false, told: [] });
    await reopen({ secrets: "inline" });

    expect(await contentOf()).toEqual({ jobShows: true, told: ["Warning SecretsInJob"] });
  });

  test("enabled imagePullSecrets reach the driver through a variable that is removed with the pod; a missing secret is reported", async () => {
    await reopen({ imagePullSecrets: "use" });
    const auths = { "registry.example.com": { username: "ann", password: "canary <&>" }, "quay.io": { username: "bob", password: "p" } };
    const text = JSON.stringify({ auths });
    rig.secrets["registry"] = {
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": Buffer.from(text).toString("base64") },
    };
    const image = "registry.example.com/app:1";
    const main = container(`echo "$VK_REGISTRY_USERNAME $VK_REGISTRY_PASSWORD"; ${forever}`, { image });
    const ref = await rig.run(rig.pod({ containers: [main], imagePullSecrets: [{ name: "registry" }, { name: "missing" }] }));

    const { jobs, variables } = rig.nomad.cluster.state;
    expect(JSON.stringify(jobs.get(rig.jobId(ref)))).not.toMatch(/ann|canary/);
    expect(JSON.stringify(variables.get(`nomad/jobs/${rig.jobId(ref)}`))).not.toContain("bob");
    await eventually(() =>
      expect(rig.nomad.cluster.runners.values().next().value?.task("main")?.logs.stdout.from(0).toString()).toBe("ann canary <&>\n"),
    );
    expect(rig.events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      expect.stringMatching(/^FailedToRetrieveImagePullSecret: .*\(missing\)/),
    ]);
    await rig.delete(ref);
    await rig.untilGone(ref);
    expect(variables.size).toBe(0);
  });

  test("a restarted program opens a waiting gate", async () => {
    const init = (name: string, script: string): ReturnType<typeof container> => container(script, { name });
    const pod = rig.pod({ initContainers: [init("first", rig.held(0)), init("second", "true")] });
    const ref = await rig.create(pod);
    await rig.stop();
    rig.release();
    await eventually(() =>
      expect(rig.nomad.cluster.allocationsOf(rig.jobId(ref))[0]).toMatchObject({ TaskStates: { first: { State: "dead" } } }),
    );
    expect(rig.nomad.cluster.state.variables.size).toBe(0);
    await rig.start();

    await rig.until(ref, ({ phase }) => expect(phase).toBe("Running"));
    await rig.delete(ref);
    await rig.untilGone(ref);
    expect(rig.nomad.cluster.state.variables.size).toBe(0);
  });

  test("a missing image is reported, and tried again if the policy allows it", async () => {
    const never = await rig.create(rig.pod({ containers: [container(forever, { image: "missing/image" })] }));
    await rig.until(never, ({ phase, containerStatuses }) =>
      expect([phase, containerStatuses?.[0]?.state?.terminated?.reason]).toEqual(["Failed", "ErrImagePull"]),
    );
    const always = await rig.create(rig.pod({ restartPolicy: "Always", containers: [container(forever, { image: "missing/image" })] }));
    await rig.until(always, ({ phase, containerStatuses }) =>
      expect([phase, containerStatuses?.[0]?.state?.waiting?.reason]).toEqual(["Pending", "ImagePullBackOff"]),
    );
  });
});
