import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";

const program = join(import.meta.dirname, "../../examples/embed-a-node/src/main.ts");

test("the example program joins the cluster of a kubeconfig as a Ready node, and ends with 0 on SIGINT", async () => {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startApiServer());
  const folder = mkdtempSync(join(tmpdir(), "vk-example-"));
  stack.defer(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "kubeconfig"), server.kubeconfig(), { mode: 0o600 });
  const { signal } = new AbortController();
  const client = createKubeClient(server.transport());

  const child = spawn(process.execPath, ["--conditions=@virtual-kubelet/source", program], {
    env: { KUBECONFIG: join(folder, "kubeconfig") },
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

  child.kill("SIGINT");
  expect(await exit).toEqual([0, null]);
});
