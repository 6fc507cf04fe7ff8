import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { forwardedPorts } from "../interop/support/forwarded-ports.ts";
import { copyThereAndBack, execOnTerminal } from "../interop/support/kubectl-steps.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { DockerNode, podTimeout } from "./support/docker-node.ts";

const api = sharedApi();
const page = "a page of the config map\n";
const patience = { timeoutMs: 300_000, intervalMs: 500 };
let node: DockerNode;

interface PodView {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly podIP: string;
    readonly hostIP: string;
    readonly qosClass: string;
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses: readonly { readonly restartCount: number; readonly ready: boolean; readonly containerID: string }[];
    readonly initContainerStatuses: readonly { readonly state: { readonly terminated?: { readonly exitCode: number } } }[];
  };
}

async function pods(): Promise<PodView[]> {
  const { items } = JSON.parse(await node.say("get", "pods", "-l", "app=web", "-o", "json")) as { items: PodView[] };
  return items.filter(({ metadata }) => !("deletionTimestamp" in metadata));
}

async function firstPod(): Promise<PodView> {
  const [pod] = await pods();
  if (pod === undefined) throw new Error("there is no pod");
  return pod;
}

function manifest(name: string): Promise<string> {
  return readFile(join(import.meta.dirname, "support", name), "utf8");
}

beforeAll(async () => {
  node = await DockerNode.start("docker-workload");
  await node.apply(await manifest("web.yaml"));
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  const ids = await api.containers({ [labelNames.node]: node.name });
  await Promise.all(ids.map((id) => api.remove(id)));
});

// Each test continues from the state of the previous one.

test("a Deployment runs: pods have their own addresses, are ready by their probes, and have a kubelet's statuses", async () => {
  await node.say("rollout", "status", "deployment/web", `--timeout=${podTimeout}`);
  const found = await pods();

  expect(new Set(found.map(({ status }) => status.podIP)).size).toBe(2);
  for (const { status } of found) {
    expect(status).toMatchObject({ hostIP: inject("nodeAddress"), qosClass: "Burstable" });
    const conditions = Object.fromEntries(status.conditions.map((condition) => [condition.type, condition.status]));
    expect(conditions).toMatchObject({ PodReadyToStartContainers: "True", Initialized: "True", ContainersReady: "True", Ready: "True" });
    expect(status.containerStatuses).toMatchObject([
      { restartCount: 0, ready: true, containerID: expect.stringMatching(/^docker:\/\/[0-9a-f]{64}$/) },
    ]);
    expect(status.initContainerStatuses).toMatchObject([{ state: { terminated: { exitCode: 0 } } }]);
  }
});

test("a Job sends a request to a pod's IP, and its log has the response", async () => {
  const { status } = await firstPod();
  await node.apply((await manifest("caller.yaml")).replace("POD_IP", status.podIP));

  await node.say("wait", "job/caller", "--for=condition=Complete", `--timeout=${podTimeout}`);
  expect(await node.say("logs", "job/caller")).toBe(page);
  await node.say("delete", "job", "caller", "--cascade=foreground", `--timeout=${podTimeout}`);
});

test("kubectl logs", async () => {
  const { metadata } = await firstPod();

  expect(await node.say("logs", metadata.name, "-c", "web")).toMatch(/^serving as 1000\n/);
  expect(await node.say("logs", metadata.name, "--timestamps", "--limit-bytes=30")).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
  expect((await node.say("logs", metadata.name, "--tail=1")).split("\n")).toHaveLength(2);
  const following = node.kubectl.start("logs", metadata.name, "-f", "--tail=1");
  // The output does not contain lines that were written before the follow began.
  await eventually(() => expect(following.output.stdout).toContain("\n"), patience);
  await node.say("exec", metadata.name, "--", "sh", "-c", "echo told > /proc/1/fd/1");
  await eventually(() => expect(following.output.stdout).toContain("told\n"), patience);
  following.child.kill("SIGINT");
  await following.ended;
});

test("kubectl exec: input, exit codes, and the container's files and variables", async () => {
  const { metadata } = await firstPod();
  const read = (...command: string[]): Promise<string> => node.say("exec", metadata.name, "--", ...command);

  expect(await read("cat", "/etc/password/password")).toBe("open sesame");
  expect(await read("sh", "-c", "echo $PASSWORD; id -u; id -G")).toBe("open sesame\n1000\n1000 2000\n");
  expect(await read("cat", "/shared/greeting")).toBe(`written by ${metadata.name}\n`);
  expect(await read("hostname")).toBe(`${metadata.name}\n`);
  expect(await node.kubectl.run(["exec", "-i", metadata.name, "--", "sh", "-c", "cat; exit 5"], "to the end")).toMatchObject({
    stdout: "to the end",
    code: 5,
  });
  expect(await node.kubectl.run(["exec", metadata.name, "--", "no-such-command"])).toMatchObject({
    code: 127,
    stderr: expect.stringContaining("executable file not found"),
  });
});

test("kubectl exec on a terminal", async () => {
  await execOnTerminal(node.kubectl, (await firstPod()).metadata.name, patience);
});

test("kubectl cp into a container and back", async () => {
  await copyThereAndBack(node.kubectl, (await firstPod()).metadata.name, "web");
});

test("kubectl debug with its default profile can read the files of a container, and has CAP_SYS_PTRACE", async () => {
  const { metadata } = await firstPod();
  const script = "grep CapEff /proc/self/status; cat /proc/1/root/www/index.html && echo seen; sleep 3600";
  await node.say("debug", metadata.name, "--image=busybox:1.37", "--target=web", "--container=look", "--", "sh", "-c", script);

  await eventually(async () => expect(await node.say("logs", metadata.name, "-c", "look")).toContain("seen"), patience);
  const [, effective = "0"] = /CapEff:\s*([0-9a-f]+)/.exec(await node.say("logs", metadata.name, "-c", "look")) ?? [];
  expect(Boolean((BigInt(`0x${effective}`) >> 19n) & 1n), "CAP_SYS_PTRACE").toBe(true);
});

test("kubectl port-forward", async () => {
  const { metadata } = await firstPod();
  const { child, output, ended } = node.kubectl.start("port-forward", metadata.name, ":8080");
  const port = (await forwardedPorts(output, 1)).get(8080) ?? 0;

  const answers = await Promise.all(
    Array.from({ length: 5 }, async () =>
      (await fetch(`http://127.0.0.1:${port}/index.html`, { headers: { connection: "close" } })).text(),
    ),
  );

  expect(answers).toEqual(Array.from({ length: 5 }, () => page));
  child.kill("SIGINT");
  await ended;
});

test("kubectl top shows the resource usage of pods and node", async () => {
  const { metadata } = await firstPod();
  await eventually(async () => {
    expect(await node.say("top", "pod", metadata.name, "--containers", "--no-headers")).toMatch(/\sweb\s+\d+m\s+([5-9]|[1-9]\d)Mi/);
    expect(await node.say("top", "node", node.name, "--no-headers")).toMatch(/\s[1-9]\d*m\s+\d+%\s+[1-9]\d*Mi/);
  }, patience);
});

test("running pods see a changed config map", async () => {
  const { status } = await firstPod();
  await node.say("patch", "configmap", "pages", "-p", JSON.stringify({ data: { "index.html": "another page\n" } }));

  await eventually(
    async () => expect(await (await fetch(`http://${status.podIP}:8080/index.html`)).text()).toBe("another page\n"),
    patience,
  );
});

test("a container whose liveness probe fails is restarted, and the previous run's log is available", async () => {
  const { metadata } = await firstPod();
  await node.say("exec", metadata.name, "--", "rm", "/shared/healthy");

  await eventually(async () => {
    const pod = (await pods()).find(({ metadata: { name } }) => name === metadata.name);
    expect(pod?.status.containerStatuses).toMatchObject([{ restartCount: 1, ready: true }]);
  }, patience);
  expect(await node.say("logs", metadata.name, "--previous")).toContain("serving as 1000");
  await eventually(async () => {
    const events = await node.say(
      "get",
      "events",
      "--field-selector",
      `involvedObject.name=${metadata.name}`,
      "-o",
      "jsonpath={.items[*].reason}",
    );
    for (const reason of ["Scheduled", "Pulled", "Created", "Started", "Unhealthy", "Killing"]) expect(events.split(" ")).toContain(reason);
  }, patience);
});

test("a kill and restart of the program restarts no container", async () => {
  const view = async (): Promise<unknown> =>
    (await pods()).map(({ metadata, status }) => [
      metadata.name,
      status.podIP,
      status.containerStatuses[0]?.containerID,
      status.containerStatuses[0]?.restartCount,
    ]);
  const before = await view();

  await node.program.end("SIGKILL");
  node.run();

  await eventually(async () => expect(await node.say("logs", "deployment/web", "--tail=1")).not.toBe(""), patience);
  await node.say("wait", "pod", "-l", "app=web", "--for=condition=Ready", `--timeout=${podTimeout}`);
  expect(await view()).toEqual(before);
});

test("kubectl rollout restart creates new pods, and the old pods' containers are removed", async () => {
  const before = (await pods()).map(({ metadata }) => metadata.uid);
  await node.say("rollout", "restart", "deployment/web");
  await node.say("rollout", "status", "deployment/web", `--timeout=${podTimeout}`);

  await eventually(async () => {
    const after = (await pods()).map(({ metadata }) => metadata.uid);
    expect(after).toHaveLength(2);
    expect(after.filter((uid) => before.includes(uid))).toEqual([]);
  }, patience);
  for (const uid of before) await eventually(async () => expect(await api.containers({ [labelNames.podUid]: uid })).toEqual([]), patience);
});

test("kubectl drain empties the node", async () => {
  const before = await pods();
  await node.say("drain", node.name, "--ignore-daemonsets", "--delete-emptydir-data", `--timeout=${podTimeout}`);

  for (const { metadata } of before) expect(await node.kubectl.run(["get", "pod", metadata.name])).toMatchObject({ code: 1 });
  await eventually(async () => expect(await api.containers({ [labelNames.node]: node.name })).toEqual([]), patience);
});

/** Commands of the guide's paragraph on leaving, without their comments. */
async function commandsToLeave(): Promise<readonly string[]> {
  const guide = await readFile(join(import.meta.dirname, "../../docs/guides/docker.md"), "utf8");
  const [, block = ""] = /^- \*\*To leave\*\*[\s\S]*?```bash\n([\s\S]*?)```/m.exec(guide) ?? [];
  return block
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
}

const leftovers = `
apiVersion: v1
kind: Pod
metadata: { name: hello }
spec:
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, image: "IMAGE", command: [sleep, "3600"] }]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: everywhere }
spec:
  selector: { matchLabels: { app: everywhere } }
  template:
    metadata: { labels: { app: everywhere } }
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{ operator: Exists }]
      containers: [{ name: main, image: "IMAGE", command: [sleep, "3600"], volumeMounts: [{ name: memory, mountPath: /memory }] }]
      volumes: [{ name: memory, emptyDir: { medium: Memory } }]
`;

test("the guide's commands to leave end all pods, delete the node, and leave no container and no mount behind", async () => {
  const image = /image: (\S+)/.exec(await manifest("web.yaml"))?.[1] ?? "";
  await node.say("uncordon", node.name);
  await node.apply(leftovers.replaceAll("IMAGE", image));
  await node.say("wait", "pod/hello", "--for=condition=Ready", `--timeout=${podTimeout}`);
  await node.say("rollout", "status", "daemonset/everywhere", `--timeout=${podTimeout}`);
  expect(await node.kubectl.run(["drain", node.name, "--ignore-daemonsets"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("default/hello"),
  });
  const mounted = async (): Promise<boolean> => (await readFile("/proc/self/mounts", "utf8")).includes(`${node.rootDirectory}/`);
  expect(await mounted()).toBe(true);

  const [drain = "", stop, deletion = "", ...cleaning] = await commandsToLeave();
  const kubectl = (line: string): Promise<string> => node.say(...line.replaceAll("workshop-1", node.name).split(" ").slice(1));
  await kubectl(drain);
  expect(stop).toMatch(/^sudo systemctl stop /);
  node.program.kill("SIGTERM");
  expect(await node.program.exit).toBe(0);
  await kubectl(deletion);
  expect(await api.containers({ [labelNames.node]: node.name })).not.toEqual([]);
  for (const line of cleaning) {
    // The engine has containers of other tests.
    const own = `label=${labelNames.podUid} --filter label=${labelNames.node}=${node.name}`;
    const words = line
      .replaceAll("sudo ", "")
      .replace(`label=${labelNames.podUid}`, own)
      .replace("/var/lib/virtual-kubelet/docker", node.rootDirectory);
    execFileSync("sh", ["-c", words], { env: { ...process.env, DOCKER_HOST: inject("dockerHost") }, stdio: "pipe" });
  }

  expect(await api.containers({ [labelNames.node]: node.name })).toEqual([]);
  expect(await mounted()).toBe(false);
  // Replicas of the Deployment wait for another node.
  const bound = ["get", "pods", "--field-selector", `spec.nodeName=${node.name}`, "-o", "name"];
  await eventually(async () => expect(await node.say(...bound)).toBe(""), patience);
});
