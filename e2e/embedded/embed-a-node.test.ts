import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type Pod } from "@virtual-kubelet/kube-client";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../examples/embed-a-node");
const { signal } = new AbortController();

/** The example as the README shows it, on a free port. */
async function exampleOnFreePort(): Promise<string> {
  const text = readFileSync(join(folder, "src/main.ts"), "utf8");
  const program = text.replace("kubeletPort: 10250", `kubeletPort: ${await freePort()}`);
  expect(program).not.toBe(text);
  return program;
}

function pod(name: string, spec: Partial<Pod["spec"]> = {}): Pod {
  return { metadata: { name, namespace: "default" }, spec: { containers: [{ name: "main", image: "nginx" }], ...spec } };
}

async function startExample(stack: AsyncDisposableStack) {
  const server = stack.use(await startApiServer());
  const home = mkdtempSync(join(tmpdir(), "vk-example-"));
  stack.defer(() => rmSync(home, { recursive: true }));
  writeFileSync(join(home, "kubeconfig"), server.kubeconfig(), { mode: 0o600 });
  const client = createKubeClient(server.transport());
  const code = await exampleOnFreePort();
  const child = spawn(process.execPath, ["--conditions=@virtual-kubelet/source", "--input-type=module-typescript", "--eval", code], {
    cwd: folder,
    env: { KUBECONFIG: join(home, "kubeconfig") },
    stdio: ["ignore", "inherit", "inherit"],
  });
  stack.defer(() => void child.kill("SIGKILL"));
  const exit = once(child, "exit");
  await eventually(
    async () => {
      const node = await client.get(resources.nodes, { name: "my-node" }, { signal });
      expect(node.status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
    },
    { timeoutMs: 100_000 },
  );
  return { client, child, exit };
}

let stack: AsyncDisposableStack;
let example: Awaited<ReturnType<typeof startExample>>;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  example = await startExample(stack);
});

afterEach(() => stack.disposeAsync());

async function phaseOf(name: string): Promise<string | undefined> {
  return (await example.client.get(resources.pods, { namespace: "default", name }, { signal })).status?.phase;
}

test("the example of the README ends with 0 on SIGINT", async () => {
  example.child.kill("SIGINT");

  expect(await example.exit).toEqual([0, null]);
});

test("a pod without a toleration is not scheduled to the README's node, and one with it is", async () => {
  await example.client.create(resources.pods, pod("ordinary"), { signal });
  const tolerations = [{ key: "virtual-kubelet.io/provider", operator: "Exists" }];
  await example.client.create(resources.pods, pod("tolerant", { tolerations }), { signal });

  await eventually(async () => expect(await phaseOf("tolerant")).toBe("Running"));
  const ordinary = await example.client.get(resources.pods, { namespace: "default", name: "ordinary" }, { signal });
  expect(ordinary.spec?.nodeName ?? "").toBe("");
  expect(ordinary.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message).toContain("taint");
});

test("the API server reads logs from the README's node", async () => {
  const annotations = { "mock.virtual-kubelet.io/log": "hello" };
  await example.client.create(
    resources.pods,
    { ...pod("web", { nodeName: "my-node" }), metadata: { name: "web", namespace: "default", annotations } },
    { signal },
  );
  await eventually(async () => expect(await phaseOf("web")).toBe("Running"));

  const log = await example.client.raw("GET", "/api/v1/namespaces/default/pods/web/log", undefined, { signal });

  expect(log).toContain("hello");
});
