import { resources, type Pod } from "@virtual-kubelet/kube-client";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { describe, expect, test } from "vitest";
import { importImages } from "./support/busybox-image.ts";
import { controlGroupsBelow, controlGroupOf } from "./support/control-groups.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { EmbeddedNode, patienceMs } from "./support/embedded-node.ts";
import type { EngineApi } from "./support/engine-api.ts";
import { EngineProxy } from "./support/engine-proxy.ts";
import { PrivateEngine } from "./support/private-engine.ts";

const { signal } = new AbortController();
const image = "busybox:1.37";
const main = { name: "main", image, command: ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"] };

/** IDs of a pod's containers at the engine, without the sandbox. */
async function containersOf(api: EngineApi, uid: string, container = "main"): Promise<string[]> {
  return api.containers({ [labelNames.podUid]: uid, [labelNames.container]: container });
}

/** IDs of the pod's running containers and of its running sandbox at the engine. */
async function runningOf(
  api: EngineApi,
  uid: string,
): Promise<{ readonly containers: readonly string[]; readonly sandbox: string | undefined }> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`${labelNames.podUid}=${uid}`], status: ["running"] }));
  const found = (await api.json("GET", `/containers/json?filters=${filters}`)) as { Id: string; Labels: Record<string, string> }[];
  const isContainer = ({ Labels }: { readonly Labels: Record<string, string> }): boolean => labelNames.container in Labels;
  return { containers: found.filter(isContainer).map(({ Id }) => Id), sandbox: found.find((each) => !isContainer(each))?.Id };
}

async function sandboxOf(api: EngineApi, uid: string): Promise<string | undefined> {
  return (await runningOf(api, uid)).sandbox;
}

describe("a missing", () => {
  test("image is reported in a kubelet's words, and the pod runs when it is available", async () => {
    const api = sharedApi();
    await using node = await EmbeddedNode.start("missing-image", api);
    const missing = "127.0.0.1:9/team/late:1";
    await node.create("late", { containers: [{ ...main, image: missing, imagePullPolicy: "IfNotPresent" }] });

    await node.until("late", "to wait for its image", ({ phase, containerStatuses }) => {
      expect(phase).toBe("Pending");
      expect(containerStatuses?.[0]?.state?.waiting).toMatchObject({
        reason: "ImagePullBackOff",
        message: expect.stringContaining(missing),
      });
    });
    // Events are written independently of statuses, and may be later.
    await eventually(async () =>
      expect((await node.events("late")).map(({ reason }) => reason)).toEqual(expect.arrayContaining(["Pulling", "Failed", "BackOff"])),
    );
    await api.json("POST", `/images/${image}/tag?repo=${encodeURIComponent("127.0.0.1:9/team/late")}&tag=1`);

    await node.running("late");
    await node.client.delete(resources.pods, { name: "late", namespace: "default" }, {}, { signal });
    await eventually(async () => expect(await api.containers({ [labelNames.node]: node.name })).toEqual([]), { timeoutMs: patienceMs });
    await api.ask("DELETE", `/images/${missing}`);
  });

  test("config map is named, and the pod runs when it is created", async () => {
    await using node = await EmbeddedNode.start("missing-map", sharedApi());
    const env = [{ name: "COLOUR", valueFrom: { configMapKeyRef: { name: "colours", key: "sky" } } }];
    await node.create("waits", { containers: [{ ...main, env }] });

    await node.until("waits", "to wait for its config map", ({ containerStatuses }) =>
      expect(containerStatuses?.[0]?.state?.waiting).toMatchObject({
        reason: "CreateContainerConfigError",
        message: expect.stringContaining("colours"),
      }),
    );
    await node.client.create(
      resources.configMaps,
      { metadata: { name: "colours", namespace: "default" }, data: { sky: "blue" } },
      { signal },
    );

    await node.running("waits");
  });

  test("command is reported, and counts as a crash", async () => {
    await using node = await EmbeddedNode.start("missing-command", sharedApi());
    await node.create("crashes", { containers: [{ ...main, command: ["/no/such/command"] }] });

    await node.until("crashes", "to be in back-off", ({ phase, containerStatuses }) => {
      const [status] = containerStatuses ?? [];
      expect(status?.state?.waiting?.reason).toMatch(/^(CrashLoopBackOff|RunContainerError)$/);
      expect(status?.lastState?.terminated).toMatchObject({ exitCode: 127, message: expect.stringContaining("no such file") });
      expect(status?.restartCount).toBeGreaterThan(0);
      expect(["Pending", "Running"]).toContain(phase);
    });
  });
});

describe("a deleted pod", () => {
  const slow = { ...main, command: ["sh", "-c", "trap 'sleep 2; exit 0' TERM; while :; do sleep 0.1; done"] };
  const onPort = { containers: [{ ...slow, ports: [{ containerPort: 80, hostPort: 18_471 }] }] };

  /** Containers and control groups of a pod that remain at the engine when the API server has removed the pod. */
  async function leftBy(node: EmbeddedNode, api: EngineApi, { metadata: { name = "", uid = "" } = {} }: Pod): Promise<string[]> {
    const isGone = (): Promise<boolean> =>
      node.pod(name).then(
        (pod) => pod.metadata?.uid !== uid,
        () => true,
      );
    await eventually(async () => expect(await isGone()).toBe(true), { timeoutMs: patienceMs, intervalMs: 20 });
    return [
      ...(await api.containers({ [labelNames.podUid]: uid })),
      ...controlGroupsBelow(controlGroupOf(api.host)).filter((path) => path.includes(uid)),
    ];
  }

  test("is removed from the API last, and its successor gets its host port and never fails", async () => {
    const api = sharedApi();
    await using node = await EmbeddedNode.start("leaves-last", api);
    for (let round = 0; round < 3; round++) {
      const pod = await node.create("web", { ...onPort, terminationGracePeriodSeconds: 30 });
      await node.running("web");
      await node.client.delete(resources.pods, { name: "web", namespace: "default" }, {}, { signal });
      expect((await node.events("web")).filter(({ reason }) => reason === "ProviderDeleteSuccess")).toHaveLength(round);
      expect(await leftBy(node, api, pod)).toEqual([]);
      await eventually(async () =>
        expect((await node.events("web")).filter(({ reason }) => reason === "ProviderDeleteSuccess").length).toBeGreaterThan(round),
      );
    }
  });

  test("frees its host port for a pod that was created while it was ending", async () => {
    await using node = await EmbeddedNode.start("awaited", sharedApi());
    await node.create("first", { ...onPort, terminationGracePeriodSeconds: 30 });
    await node.running("first");
    await node.client.delete(resources.pods, { name: "first", namespace: "default" }, {}, { signal });
    await node.create("second", onPort);
    await node.until("second", "to wait", ({ phase }) => expect(phase).toBe("Pending"));
    await node.running("second");
  });
});

describe("when others change the engine's containers", () => {
  test("a removed container is started again in the same sandbox", async () => {
    const api = sharedApi();
    await using node = await EmbeddedNode.start("removed", api);
    const { metadata } = await node.create("robbed", { containers: [main] });
    const before = await node.running("robbed");
    const uid = metadata?.uid ?? "";
    const sandbox = await sandboxOf(api, uid);

    for (const id of await containersOf(api, uid)) await api.remove(id);

    const after = await node.running("robbed", 1);
    expect(after.containerID).not.toBe(before.containerID);
    expect(await sandboxOf(api, uid)).toBe(sandbox);
  });

  test("a pod whose sandbox was stopped gets a new one, and its init containers run again", async () => {
    const api = sharedApi();
    await using node = await EmbeddedNode.start("stopped", api);
    const init = { name: "init", image, command: ["sh", "-c", "echo once more"] };
    const { metadata } = await node.create("moved", { initContainers: [init], containers: [main] });
    await node.running("moved");
    const uid = metadata?.uid ?? "";
    const sandbox = await sandboxOf(api, uid);

    await api.json("POST", `/containers/${sandbox}/kill`);

    await node.running("moved", 1);
    expect(await sandboxOf(api, uid)).not.toBe(sandbox);
    const { status } = await node.pod("moved");
    expect(status?.initContainerStatuses).toMatchObject([{ state: { terminated: { exitCode: 0 } } }]);
    expect(status?.podIP).toMatch(/^\d/);
  });
});

describe("the engine", () => {
  test("is unreachable: the node is not ready, nothing is reported as ended, and everything continues when it is back", async () => {
    const api = sharedApi();
    await using proxy = await EngineProxy.start(api);
    await using node = await EmbeddedNode.start("away", api, { host: proxy.host });
    await node.create("stays", { containers: [main] });
    const before = await node.running("stays");
    {
      await using _cut = await proxy.cut();
      await eventually(async () => expect(await node.ready()).toBe("False"), { timeoutMs: patienceMs });
      expect((await node.pod("stays")).status).toMatchObject({ phase: "Running", containerStatuses: [{ state: { running: {} } }] });
    }
    await eventually(async () => expect(await node.ready()).toBe("True"), { timeoutMs: patienceMs });

    expect(await node.running("stays")).toMatchObject({ containerID: before.containerID, restartCount: 0 });
    await node.client.delete(resources.pods, { name: "stays", namespace: "default" }, {}, { signal });
    await eventually(async () => expect(await api.containers({ [labelNames.node]: node.name })).toEqual([]), { timeoutMs: patienceMs });
  });

  test("has lost the pods' network: the node is not ready until the network is restored", async () => {
    const api = sharedApi();
    const network = `vk-faults-${process.pid}`;
    const make = (): Promise<unknown> => api.json("POST", "/networks/create", { Name: network });
    await make();
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(async () => void (await api.ask("DELETE", `/networks/${network}`)));
    await using node = await EmbeddedNode.start("networkless", api, { network });
    await eventually(async () => expect(await node.ready()).toBe("True"), { timeoutMs: patienceMs });

    const unavailable = (): Promise<unknown> => node.condition("NetworkUnavailable");
    expect(await unavailable()).toMatchObject({ status: "False", reason: "NetworkFound" });

    await api.json("DELETE", `/networks/${network}`);

    await eventually(async () => expect(await unavailable()).toMatchObject({ status: "True", reason: "NetworkNotFound" }), {
      timeoutMs: patienceMs,
    });
    await eventually(
      async () =>
        expect(await node.readyCondition()).toMatchObject({
          status: "False",
          message: expect.stringMatching(/^container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:/),
        }),
      { timeoutMs: patienceMs },
    );
    await make();
    await eventually(async () => expect(await node.ready()).toBe("True"), { timeoutMs: patienceMs });
    await eventually(async () => expect(await unavailable()).toMatchObject({ status: "False" }), { timeoutMs: patienceMs });
  });

  test("is restarted: its containers have ended, and each pod starts exactly once more, in a new sandbox, on a node that stays Ready", async () => {
    await using engine = await PrivateEngine.start({ hasOwnNetwork: true });
    await importImages(engine.api);
    await using node = await EmbeddedNode.start("restarted", engine.api);
    const quick = { ...main, livenessProbe: { exec: { command: ["true"] }, periodSeconds: 1, failureThreshold: 1 } };
    const { metadata } = await node.create("anew", { containers: [quick] });
    const uid = metadata?.uid ?? "";
    await node.create("once", { restartPolicy: "Never", containers: [main] });
    const before = await node.running("anew");
    await node.running("once");
    const readySince = (await node.readyCondition())?.lastTransitionTime;

    await engine.stopDaemon();
    await engine.startDaemon();

    await eventually(
      async () => {
        const { phase, podIP, containerStatuses } = (await node.pod("anew")).status ?? {};
        expect([phase, containerStatuses?.[0]?.ready, podIP]).toEqual(["Running", true, expect.stringMatching(/^\d/)]);
        expect(containerStatuses?.[0]?.restartCount).toBe(1);
        expect(containerStatuses?.[0]?.containerID).not.toBe(before.containerID);
        const containers = [containerStatuses?.[0]?.containerID?.replace("docker://", "")];
        expect(await runningOf(engine.api, uid)).toEqual({ containers, sandbox: expect.any(String) });
      },
      { timeoutMs: patienceMs, describe: "pod anew to run anew" },
    );
    await node.until("once", "to have ended", ({ phase }) => expect(["Failed", "Succeeded"]).toContain(phase));
    expect((await node.readyCondition())?.lastTransitionTime).toBe(readySince);
  });

  test("is suspended and resumed with open connections: nothing restarts, in spite of running probes, and the node stays Ready", async () => {
    await using engine = await PrivateEngine.start({ hasOwnNetwork: true });
    await importImages(engine.api);
    await using node = await EmbeddedNode.start("still", engine.api);
    const livenessProbe = { exec: { command: ["true"] }, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 1 };
    await node.create("lives", { containers: [{ ...main, livenessProbe }] });
    const before = await node.running("lives");
    const readySince = (await node.readyCondition())?.lastTransitionTime;

    {
      using _hang = engine.hangDaemon();
      await new Promise((resolve) => setTimeout(resolve, 20_000));
    }
    await new Promise((resolve) => setTimeout(resolve, 10_000));

    expect(await node.running("lives")).toMatchObject({ containerID: before.containerID, restartCount: 0 });
    expect((await node.events("lives")).filter(({ reason }) => reason === "Unhealthy")).toEqual([]);
    expect((await node.readyCondition())?.lastTransitionTime).toBe(readySince);
  });

  test("is restarted with live-restore: nothing restarts, in spite of running probes, and the node stays Ready", async () => {
    await using engine = await PrivateEngine.start({ hasOwnNetwork: true, isLiveRestore: true });
    await importImages(engine.api);
    await using node = await EmbeddedNode.start("live", engine.api);
    // With Docker 29 a command takes more than a second on a busy machine.
    const livenessProbe = { exec: { command: ["sh", "-c", "sleep 0.2"] }, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 1 };
    await node.create("lives", { containers: [{ ...main, livenessProbe }] });
    const before = await node.running("lives");
    const readySince = (await node.readyCondition())?.lastTransitionTime;

    for (let round = 0; round < 3; round++) {
      await engine.stopDaemon();
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await engine.startDaemon();
      await new Promise((resolve) => setTimeout(resolve, 3_000));
    }

    // The list after the return would reveal a change.
    await eventually(
      async () => expect((await node.pod("lives")).status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True"),
      {
        timeoutMs: patienceMs,
      },
    );
    // First, because these events say why a container was restarted.
    expect((await node.events("lives")).filter(({ reason }) => reason === "Unhealthy")).toEqual([]);
    expect(await node.running("lives")).toMatchObject({ containerID: before.containerID, restartCount: 0 });
    expect((await node.readyCondition())?.lastTransitionTime).toBe(readySince);
  });
});
