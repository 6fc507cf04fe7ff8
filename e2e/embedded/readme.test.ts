import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";

test("a pod that no node has taken is Pending", async () => {
  await using server = await startApiServer();
  const client = createKubeClient(server.transport());
  const { signal } = new AbortController();

  const pod = { metadata: { name: "web", namespace: "default" }, spec: { containers: [{ name: "web", image: "nginx" }] } };
  await client.create(resources.pods, pod, { signal });

  const stored = await client.get(resources.pods, { namespace: "default", name: "web" }, { signal });
  expect(stored.status?.phase).toBe("Pending");
});
