import { VirtualClock } from "@virtual-kubelet/clock";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { formatResources } from "@virtual-kubelet/kubernetes";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownerTags } from "../identity/tags.ts";
import { readOthersRequests } from "./other-pods.ts";

const { signal } = new AbortController();
const owner = { clusterId: "home", nodeName: "gpu" };
let far: Awaited<ReturnType<typeof startApiServer>>;
let client: KubeClient;

beforeAll(async () => {
  far = await startApiServer({ listen: false, controllers: false, serviceAccounts: true });
  client = createKubeClient(far.transport(), { clock: new VirtualClock() });
  await Promise.all([
    create(podOf("plain", "n1")),
    create(podOf("second", "n1", ownerTags({ clusterId: "another-home", nodeName: "gpu" }))),
    create(podOf("elsewhere", "n2")),
    create(podOf("ours", "n1", ownerTags(owner))),
    create(podOf("unscheduled", undefined)),
    create(podOf("ended", "n1")),
  ]);
  const patch = { type: "merge", body: { status: { phase: "Succeeded" } } } as const;
  await client.patch(resources.pods, { namespace: "default", name: "ended" }, patch, { subresource: "status", signal });
});

afterAll(() => far.close());

function create(pod: Pod): Promise<Pod> {
  return client.create(resources.pods, pod, { signal });
}

function podOf(name: string, nodeName: string | undefined, tags: Partial<ReturnType<typeof ownerTags>> = {}): Pod {
  const containers = [{ name: "main", image: "web", resources: { requests: { cpu: "500m", memory: "1Gi" } } }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name, ...tags },
    spec: { containers, ...(nodeName !== undefined && { nodeName }) },
  };
}

async function read(farNode?: string): Promise<Record<string, Record<string, string>>> {
  const requests = await readOthersRequests({ client, owner, farNode }, signal);
  return Object.fromEntries([...(requests ?? [])].map(([name, quantities]) => [name, formatResources(quantities)]));
}

test("pods of others on far nodes are added up; ours, and those that have ended or wait, are not", async () => {
  expect(await read()).toEqual({
    n1: { cpu: "1", memory: "2Gi", pods: "2" },
    n2: { cpu: "500m", memory: "1Gi", pods: "1" },
  });
});

test("pods of other virtual nodes of the home cluster count, too", async () => {
  const namespace = "of-the-sibling";
  await client.create(resources.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, { signal });
  for (const [index, where] of ["default", namespace].entries()) {
    const sibling = podOf(`sibling-${index}`, "n3", ownerTags({ ...owner, nodeName: "spot" }));
    await create({ ...sibling, metadata: { ...sibling.metadata, namespace: where } });
  }
  await create(podOf("ours-too", "n3", ownerTags(owner)));

  expect(await read("n3")).toEqual({ n3: { cpu: "1", memory: "2Gi", pods: "2" } });
});

test("without the right to list all pods nothing is known, which is not the same as nothing", async () => {
  const stranger = createKubeClient(far.transport({ user: "stranger" }), { clock: new VirtualClock() });

  expect(await readOthersRequests({ client: stranger, owner, farNode: undefined }, signal)).toBeUndefined();
});
