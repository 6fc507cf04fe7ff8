import { basename, dirname } from "node:path";
import { isConflict, isInvalidInput, isNotFound, isUnavailable, isUnsupported } from "@virtual-kubelet/errdefs";
import { execCapture, type RuntimeEvent } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inspectContainer } from "../../providers/docker/src/engine/engine-queries.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { RuntimeRig } from "./support/runtime-rig.ts";

const never = new AbortController().signal;
let rig: RuntimeRig;

beforeAll(async () => {
  rig = await RuntimeRig.open("runtime");
});
afterAll(async () => {
  await rig[Symbol.asyncDispose]();
});

async function output(id: string, ...command: string[]): Promise<string> {
  return (await execCapture(rig.runtime, id, { command, signal: never })).output.trim();
}

test("a sandbox has an address and a name, which its containers share, and everything is removed with it", async () => {
  const pod = rig.pod("shares");
  const sandbox = await rig.sandbox(pod, { dns: { servers: ["192.0.2.53"], searches: ["default.svc"], options: ["ndots:5"] } });
  const id = await rig.run(sandbox.id, rig.containerSpec(pod));

  expect(sandbox).toMatchObject({ isReady: true, ips: [expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/)] });
  expect(await output(id, "hostname")).toBe("shares");
  expect(await output(id, "cat", "/etc/resolv.conf")).toContain("nameserver 192.0.2.53");
  expect(await output(id, "ip", "-4", "-o", "addr", "show", "eth0")).toContain(sandbox.ips[0]);
  expect(await rig.runtime.inspectContainer(id, never)).toMatchObject({
    sandboxId: sandbox.id,
    image: "busybox:1.37",
    state: { kind: "running" },
  });

  await rig.runtime.removeSandbox(sandbox.id, never);
  await rig.runtime.removeSandbox(sandbox.id, never);
  await expect(rig.runtime.inspectContainer(id, never)).rejects.toSatisfy(isNotFound);
  await expect(rig.runtime.inspectSandbox(sandbox.id, never)).rejects.toSatisfy(isNotFound);
});

test("a container that is requested twice is created once and started once", async () => {
  const pod = rig.pod("twice");
  const { id: sandboxId } = await rig.sandbox(pod);
  const spec = rig.containerSpec(pod, { command: ["sh", "-c", "exit 3"] });
  const id = await rig.run(sandboxId, spec);
  const other = await RuntimeRig.open("runtime", { engine: rig.engine });

  expect(await other.runtime.createContainer(sandboxId, spec, never)).toBe(id);
  await eventually(async () =>
    expect((await rig.runtime.inspectContainer(id, never)).state).toMatchObject({ kind: "exited", exitCode: 3 }),
  );
  await expect(other.runtime.startContainer(id, never)).rejects.toSatisfy(isConflict);
  expect((await rig.sandbox(pod)).id).toBe(sandboxId);
});

test("a stop waits until the container ends by itself, and a second stop shortens the grace period without a second signal", async () => {
  const pod = rig.pod("stops");
  const { id: sandboxId } = await rig.sandbox(pod);
  const ending = "trap 'exit 7' TERM; echo up; while :; do sleep 1 & wait $!; done";
  const polite = await rig.run(sandboxId, rig.containerSpec(pod, { command: ["sh", "-c", ending] }));
  const counting = "n=0; trap 'n=$((n+1)); echo signal $n' TERM; echo up; while :; do sleep 1 & wait $!; done";
  const stubborn = await rig.run(
    sandboxId,
    rig.containerSpec(pod, { container: { name: "stubborn", image: "busybox:1.37" }, command: ["sh", "-c", counting] }),
  );
  // The first process of a container ignores a signal that arrives before its trap is set.
  for (const id of [polite, stubborn]) await eventually(async () => expect(await logsOf(id)).toContain("up"));

  await rig.runtime.stopContainer(polite, { graceMs: 100_000 }, never);
  expect((await rig.runtime.inspectContainer(polite, never)).state).toMatchObject({ kind: "exited", exitCode: 7 });

  const first = new AbortController();
  const stopping = rig.runtime.stopContainer(stubborn, { graceMs: 60_000 }, first.signal);
  await eventually(async () => expect(await logsOf(stubborn)).toContain("signal 1"));
  first.abort(new Error("less grace"));
  await expect(stopping).rejects.toThrow("less grace");
  await rig.runtime.stopContainer(stubborn, { graceMs: 500 }, never);
  await rig.runtime.stopContainer(stubborn, { graceMs: 500 }, never);

  expect((await rig.runtime.inspectContainer(stubborn, never)).state).toMatchObject({ kind: "exited", exitCode: 137 });
  expect(await logsOf(stubborn)).not.toContain("signal 2");
});

async function logsOf(id: string): Promise<string> {
  const logs = await rig.runtime.logs(id, { follow: false, previous: false, timestamps: false }, never);
  const chunks: Buffer[] = [];
  for await (const chunk of logs.data) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

test("a missing command is reported with the engine's message, and the container has ended", async () => {
  const pod = rig.pod("no-command");
  const { id: sandboxId } = await rig.sandbox(pod);
  const id = await rig.runtime.createContainer(sandboxId, rig.containerSpec(pod, { command: ["/no/such/program"] }), never);

  await expect(rig.runtime.startContainer(id, never)).rejects.toThrow("/no/such/program");
  expect((await rig.runtime.inspectContainer(id, never)).state).toMatchObject({ kind: "exited", exitCode: 127 });
  expect((await rig.runtime.list(rig.ownerLabels, never)).containers.find((held) => held.id === id)?.state.kind).toBe("exited");
});

test("a container that cannot join a dead sandbox does not count as started, and is created again in the next sandbox", async () => {
  const pod = rig.pod("dead-sandbox");
  const sandbox = await rig.sandbox(pod);
  const spec = rig.containerSpec(pod);
  const id = await rig.runtime.createContainer(sandbox.id, spec, never);
  await rig.runtime.stopSandbox(sandbox.id, never);
  await rig.runtime.stopSandbox(sandbox.id, never);

  await expect(rig.runtime.startContainer(id, never)).rejects.toSatisfy(isConflict);
  expect((await rig.runtime.inspectContainer(id, never)).state).toEqual({ kind: "created" });
  expect(await rig.runtime.inspectSandbox(sandbox.id, never)).toMatchObject({ isReady: false });

  const next = await rig.sandbox(pod, { labels: { ...sandbox.labels, "virtual-kubelet.io/attempt": "1" } });
  const again = await rig.run(next.id, spec);
  expect(again).not.toBe(id);
  await rig.runtime.removeSandbox(sandbox.id, never);
  expect((await rig.runtime.inspectContainer(again, never)).state.kind).toBe("running");
});

test("limits, user, capabilities, read-only root and no-new-privileges apply to the process", async () => {
  const pod = rig.pod("confined", {
    securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 3000, supplementalGroups: [4000] },
    shareProcessNamespace: true,
    containers: [
      {
        name: "app",
        image: "busybox:1.37",
        workingDir: "/tmp",
        securityContext: {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"], add: ["CAP_NET_BIND_SERVICE"] },
        },
      },
    ],
  });
  const { id: sandboxId } = await rig.sandbox(pod);
  const limits = { cpuShares: 102, cpuQuotaMicros: 20_000, cpuPeriodMicros: 100_000, memoryBytes: 64 * 1024 * 1024 };
  const id = await rig.run(sandboxId, rig.containerSpec(pod, { limits, environment: [{ name: "GREETING", value: "a=b c" }] }));

  expect(await output(id, "id")).toBe("uid=1000(app) gid=1000(app) groups=1000(app),3000,4000");
  expect(await output(id, "pwd")).toBe("/tmp");
  expect(await output(id, "sh", "-c", "echo $GREETING")).toBe("a=b c");
  expect(await output(id, "touch", "/x")).toContain("Read-only file system");
  const status = await output(id, "cat", "/proc/self/status");
  expect(status).toMatch(/CapBnd:\s+0000000000000400/);
  expect(status).toMatch(/NoNewPrivs:\s+1/);
  expect(status).toMatch(/Seccomp:\s+2/);
  await eventually(async () => expect(await output(id, "ps", "-o", "pid,args")).toContain("sleep 3600"));
  expect(await rig.runtime.inspectContainer(id, never)).toMatchObject({
    user: { uid: 1000, gid: 1000, supplementalGroups: [1000, 3000, 4000] },
  });

  await rig.runtime.resizeContainer(id, { ...limits, cpuQuotaMicros: 50_000, memoryBytes: 128 * 1024 * 1024 }, never);
  const inspected = await inspectContainer(rig.engine, id, never);
  expect(inspected.HostConfig).toMatchObject({
    CpuQuota: 50_000,
    Memory: 128 * 1024 * 1024,
    MemorySwap: 128 * 1024 * 1024,
    CpuShares: 102,
  });
});

test("too little memory is refused as invalid input", async () => {
  const pod = rig.pod("tiny");
  const { id: sandboxId } = await rig.sandbox(pod);

  await expect(rig.runtime.createContainer(sandboxId, rig.containerSpec(pod, { limits: { memoryBytes: 1024 } }), never)).rejects.toSatisfy(
    isInvalidInput,
  );
});

test("a sandbox with a host port in use fails and leaves nothing behind", async () => {
  const ports = [{ containerPort: 80, hostPort: 31_877, hostIP: "127.0.0.1" }];
  const withPort = (name: string) => rig.pod(name, { containers: [{ name: "app", image: "busybox:1.37", ports }] });
  await rig.sandbox(withPort("port-one"));
  const before = (await rig.runtime.list(rig.ownerLabels, never)).sandboxes.length;

  await expect(rig.sandbox(withPort("port-two"))).rejects.toSatisfy(isConflict);
  expect((await rig.runtime.list(rig.ownerLabels, never)).sandboxes).toHaveLength(before);
});

test("a pod can use the host's network, process table and IPC", async () => {
  const pod = rig.pod("on-host", { hostNetwork: true, hostPID: true, hostIPC: true });
  const sandbox = await rig.sandbox(pod, { hostname: "", dns: { servers: ["192.0.2.53"], searches: [], options: [] } });
  const id = await rig.run(sandbox.id, rig.containerSpec(pod));

  expect(sandbox).toMatchObject({ isReady: true, ips: [] });
  expect(await output(id, "ip", "-o", "link")).toContain("docker0");
  expect(Number(await output(id, "sh", "-c", "echo /proc/[0-9]* | wc -w"))).toBeGreaterThan(5);
});

test("sysctls, aliases and a read-only mount apply to the containers", async () => {
  const pod = rig.pod("settings", { securityContext: { sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "80" }] } });
  const sandbox = await rig.sandbox(pod, { hosts: [{ ip: "192.0.2.7", hostnames: ["seven", "7.example"] }] });
  const mounts = [{ hostPath: "/etc", containerPath: "/host:etc", isReadOnly: true }];
  const id = await rig.run(sandbox.id, rig.containerSpec(pod, { mounts }));

  expect(await output(id, "cat", "/proc/sys/net/ipv4/ip_unprivileged_port_start")).toBe("80");
  expect(await output(id, "cat", "/etc/hosts")).toMatch(/192\.0\.2\.7\s+7\.example/);
  expect(await output(id, "touch", "/host:etc/x")).toContain("Read-only file system");
});

test("a folder with the engine's data can be mounted", async () => {
  const pod = rig.pod("above-the-engine");
  const sandbox = await rig.sandbox(pod);
  const { DockerRootDir } = (await sharedApi().json("GET", "/info")) as { DockerRootDir: string };
  const mounts = [{ hostPath: dirname(DockerRootDir), containerPath: "/above", isReadOnly: true }];
  const id = await rig.run(sandbox.id, rig.containerSpec(pod, { mounts }));

  expect(await output(id, "ls", "/above")).toContain(basename(DockerRootDir));
});

test("events begin with `lost`, and report ends and removals of our containers only", async () => {
  const seen: RuntimeEvent[] = [];
  const abort = new AbortController();
  const listening = (async () => {
    for await (const event of rig.runtime.events(abort.signal)) seen.push(event);
  })().catch((error: unknown) => error);
  await eventually(() => expect(seen).toEqual([{ kind: "lost" }]));
  const pod = rig.pod("events");
  const { id: sandboxId } = await rig.sandbox(pod);
  const id = await rig.run(sandboxId, rig.containerSpec(pod));

  await rig.runtime.killContainer(id, never);
  await rig.runtime.removeContainer(id, never);
  await rig.runtime.stopSandbox(sandboxId, never);

  await eventually(() =>
    expect(seen.slice(1)).toEqual([
      { kind: "containerExited", id },
      { kind: "containerRemoved", id },
      { kind: "sandboxStopped", id: sandboxId },
    ]),
  );
  abort.abort(new Error("enough"));
  expect(await listening).toEqual(new Error("enough"));
});

test("each GPU is assigned to one container", async () => {
  await using gpuRig = await RuntimeRig.open("gpus", { gpus: ["GPU-a", "GPU-b"] });
  const limits = { "nvidia.com/gpu": "1" };
  const pod = gpuRig.pod("gpus", {
    containers: ["one", "two", "three"].map((name) => ({ name, image: "busybox:1.37", resources: { limits } })),
  });
  const { id: sandboxId } = await gpuRig.sandbox(pod);
  const specs = (pod.spec?.containers ?? []).map((container) => gpuRig.containerSpec(pod, { container }));
  const made = await Promise.allSettled(specs.map((spec) => gpuRig.runtime.createContainer(sandboxId, spec, never)));

  expect(made.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
  const ids = made.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const requests = await Promise.all(ids.map(async (id) => (await inspectContainer(rig.engine, id, never)).HostConfig.DeviceRequests));
  expect(requests.flatMap((list) => (list ?? []).flatMap(({ DeviceIDs }) => DeviceIDs))).toEqual(["GPU-a", "GPU-b"]);
});

test("errors distinguish a missing image, one that cannot be pulled, and an invalid name", async () => {
  await expect(rig.runtime.inspectImage("no-such-image:1", never)).rejects.toSatisfy(isNotFound);
  await expect(rig.runtime.pullImage("127.0.0.1:9/no-such-image:1", [], never)).rejects.toSatisfy(isUnavailable);
  await expect(rig.runtime.pullImage("Not An Image", [], never)).rejects.toSatisfy(isInvalidInput);
  expect(await rig.runtime.inspectImage("busybox-user:1.37", never)).toMatchObject({ user: "app" });
});

test("a pod is on the network that its annotation names", async () => {
  const network = `vke2e-${process.pid}`;
  const api = sharedApi();
  await api.json("POST", "/networks/create", { Name: network, IPAM: { Config: [{ Subnet: "10.213.77.0/24" }] } });
  try {
    await using open = await RuntimeRig.open("networks");
    const pod = open.pod("networked", {}, { "docker.virtual-kubelet.io/network": network });

    expect((await open.sandbox(pod)).ips).toEqual([expect.stringMatching(/^10\.213\.77\./)]);
    await expect(open.sandbox(open.pod("stranger", {}, { "docker.virtual-kubelet.io/network": "host" }))).rejects.toSatisfy(isUnsupported);
  } finally {
    await api.json("DELETE", `/networks/${network}`);
  }
});

test("names of the maximum length in Kubernetes are accepted", async () => {
  const name = "n".repeat(253);
  const pod = rig.pod(name, { containers: [{ name: "c".repeat(63), image: "busybox:1.37" }] });
  const sandbox = await rig.sandbox(pod, { hostname: "n".repeat(63) });
  const id = await rig.run(sandbox.id, rig.containerSpec(pod));

  expect(await output(id, "hostname")).toBe("n".repeat(63));
});

test("a new program finds running and ended containers of an earlier one", async () => {
  const pod = rig.pod("found");
  const sandbox = await rig.sandbox(pod);
  const running = await rig.run(sandbox.id, rig.containerSpec(pod));
  const ended = await rig.run(
    sandbox.id,
    rig.containerSpec(pod, { container: { name: "ended", image: "busybox:1.37" }, command: ["sh", "-c", "exit 5"] }),
  );
  await eventually(async () => expect((await rig.runtime.inspectContainer(ended, never)).state.kind).toBe("exited"));

  const next = await RuntimeRig.open("runtime", { engine: rig.engine });
  const { sandboxes, containers } = await next.runtime.list({ "io.kubernetes.pod.uid": pod.metadata?.uid ?? "" }, never);
  expect(sandboxes).toMatchObject([{ id: sandbox.id, isReady: true, ips: sandbox.ips }]);
  const states = Object.fromEntries(containers.map(({ id, state }) => [id, state]));
  expect(states).toMatchObject({ [running]: { kind: "running" }, [ended]: { kind: "exited", exitCode: 5 } });
});
