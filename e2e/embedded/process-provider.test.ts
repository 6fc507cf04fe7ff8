import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { provider } from "@virtual-kubelet/example-process-provider";
import { createKubeClient, resources, type KubeClient, type Pod, type PodSpec } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

const { signal } = new AbortController();

let cluster: AsyncDisposableStack;
let client: KubeClient;
let folder: string;

beforeEach(async () => {
  cluster = new AsyncDisposableStack();
  folder = mkdtempSync(join(tmpdir(), "vk-example-"));
  cluster.defer(() => rmSync(folder, { recursive: true }));
  const server = cluster.use(await startApiServer({ listen: false }));
  client = createKubeClient(server.transport());
  const node = new VirtualNode({ client, provider, providerConfig: {}, node: { name: "here", instance: { identity: "here" } } });
  const stop = new AbortController();
  const running = node.run(stop.signal);
  cluster.defer(() => {
    stop.abort();
    return running;
  });
  await node.ready;
});

afterEach(() => cluster.disposeAsync());

test("a command that ends well makes the pod Succeeded, and has the environment the pod asks for", async () => {
  await client.create(resources.configMaps, { metadata: { name: "greeting", namespace: "default" }, data: { word: "hello" } }, { signal });
  const env = [
    { name: "FILE", value: join(folder, "out") },
    { name: "WORD", valueFrom: { configMapKeyRef: { name: "greeting", key: "word" } } },
  ];

  await createPod("greeter", { containers: [{ name: "main", image: "none", command: ["sh", "-c", 'printf "$WORD" > "$FILE"'], env }] });

  await eventually(async () => expect((await statusOf("greeter"))?.phase).toBe("Succeeded"));
  expect(readFileSync(join(folder, "out"), "utf8")).toBe("hello");
});

test("an exit code other than 0 makes the pod Failed", async () => {
  await createPod("failing", { containers: [{ name: "main", image: "none", command: ["sh", "-c", "exit 3"] }] });

  await eventually(async () => {
    const status = await statusOf("failing");
    expect(status?.phase).toBe("Failed");
    expect(status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3);
  });
});

test("a deleted pod's process is asked to end, and then the pod is gone", async () => {
  const script = 'trap "touch $FILE; exit 0" TERM; touch $FILE.ready; while :; do sleep 0.05; done';
  const env = [{ name: "FILE", value: join(folder, "asked") }];
  await createPod("server", { containers: [{ name: "main", image: "none", command: ["sh", "-c", script], env }] });
  await eventually(async () => expect((await statusOf("server"))?.phase).toBe("Running"));
  await eventually(() => expect(existsSync(join(folder, "asked.ready"))).toBe(true));

  await client.delete(resources.pods, { namespace: "default", name: "server" }, { gracePeriodSeconds: 20 }, { signal });

  await eventually(async () => {
    expect((await client.list(resources.pods, { namespace: "default" }, { signal })).items).toEqual([]);
  });
  expect(readFileSync(join(folder, "asked"), "utf8")).toBe("");
});

test("a process that does not end in its grace is killed", async () => {
  const script = 'trap "" TERM; touch $FILE; while :; do sleep 0.05; done';
  const env = [{ name: "FILE", value: join(folder, "deaf") }];
  await createPod("stubborn", { containers: [{ name: "main", image: "none", command: ["sh", "-c", script], env }] });
  await eventually(async () => expect((await statusOf("stubborn"))?.phase).toBe("Running"));
  await eventually(() => expect(existsSync(join(folder, "deaf"))).toBe(true));

  await client.delete(resources.pods, { namespace: "default", name: "stubborn" }, { gracePeriodSeconds: 1 }, { signal });

  await eventually(async () => {
    expect((await client.list(resources.pods, { namespace: "default" }, { signal })).items).toEqual([]);
  });
});

test("a pod that asks for what the provider cannot do waits, and says which field it is", async () => {
  await createPod("restarting", { restartPolicy: "Always", containers: [{ name: "main", image: "none", command: ["true"] }] });

  await eventually(async () => {
    const status = await statusOf("restarting");
    expect(status?.phase).toBe("Pending");
    expect(status?.containerStatuses?.[0]?.state?.waiting).toMatchObject({
      reason: "ProviderUnsupported",
      message: expect.stringContaining("spec.restartPolicy"),
    });
  });
});

async function createPod(name: string, spec: PodSpec): Promise<void> {
  const pod: Pod = { metadata: { name, namespace: "default" }, spec: { nodeName: "here", restartPolicy: "Never", ...spec } };
  await client.create(resources.pods, pod, { signal });
}

async function statusOf(name: string): Promise<Pod["status"]> {
  return (await client.get(resources.pods, { namespace: "default", name }, { signal })).status;
}
