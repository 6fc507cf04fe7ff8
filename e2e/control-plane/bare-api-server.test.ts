import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { startControlPlane } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";
import { apiRequest } from "../../packages/testing/src/control-plane/api-request.ts";

// "Known differences" of packages/embedded-apiserver/README.md, and what is named after the machine.
const exceptions: readonly RegExp[] = [
  /^componentstatuses /,
  /^leases kube-system\/apiserver-/,
  /^apiservices v1\.(autoscaling|events\.k8s\.io)$/,
  // The real server looks for the address of its own service in a cache that may not have it yet, and then records an event.
  /^events default\//,
];

interface Item {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

type Get = (path: string) => Promise<unknown>;

/** All objects: resource, namespace and name. */
async function objectsOf(get: Get): Promise<string[]> {
  const { groups } = (await get("/apis")) as { groups: readonly { preferredVersion: { groupVersion: string } }[] };
  const objects: string[] = [];
  for (const root of ["/api/v1", ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)]) {
    const { resources } = (await get(root)) as { resources: readonly { name: string; verbs: readonly string[] }[] };
    for (const { name, verbs } of resources) {
      if (name.includes("/") || !verbs.includes("list")) continue;
      const { items } = (await get(`${root}/${name}`)) as { items: readonly Item[] };
      objects.push(...items.map(({ metadata }) => `${name} ${[metadata.namespace, metadata.name].filter(Boolean).join("/")}`));
    }
  }
  return objects.filter((object) => !exceptions.some((exception) => exception.test(object))).toSorted();
}

function embeddedGet(server: ApiServer): Get {
  const transport = server.transport();
  return async (path) => {
    const { body } = await transport.request({ method: "GET", path, pool: "short", signal: AbortSignal.timeout(10_000) });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString());
  };
}

test("without controllers the embedded server has the objects of a kube-apiserver without kube-controller-manager", async () => {
  await using real = await startControlPlane({ components: [] });
  await using embedded = await startApiServer({ listen: false, controllers: false });
  const realGet: Get = async (path) => JSON.parse((await apiRequest(real.target, "GET", path)).body);

  // The real server creates some of them a moment after it is ready.
  await expect
    .poll(async () => await objectsOf(realGet), { timeout: 60_000, interval: 1000 })
    .toEqual(await objectsOf(embeddedGet(embedded)));
});
