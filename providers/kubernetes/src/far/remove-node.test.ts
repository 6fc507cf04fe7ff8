import { VirtualClock } from "@virtual-kubelet/clock";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { copyName, farPodName, ownerObjectName } from "../identity/names.ts";
import { ownerTags, tagAnnotations, tagLabels } from "../identity/tags.ts";
import { removeFarNode } from "./remove-node.ts";

const { signal } = new AbortController();
const owner = { clusterId: "home", nodeName: "far-a" };

test("pods and copies of the node go; its owner object, and everything of others, stays", async () => {
  await using server = await startApiServer({ listen: false, controllers: false, serviceAccounts: true });
  const client = createKubeClient(server.transport(), { clock: new VirtualClock() });
  const put = async (kind: "pods" | "secrets" | "configMaps", name: string, tags: object): Promise<void> => {
    const spec = kind === "pods" ? { spec: { containers: [{ name: "main", image: "x" }] } } : {};
    await client.create(resources[kind], { metadata: { namespace: "default", name, ...tags }, ...spec }, { signal });
  };
  const others = ownerTags({ ...owner, nodeName: "far-b" });
  const home = { namespace: "default", name: "ours" };
  const { labels, annotations } = ownerTags(owner);
  const copied = { labels, annotations: { ...annotations, [tagAnnotations.copyOf]: "default/ours" } };
  const ofPod = { labels: { ...labels, [tagLabels.podUid]: "uid" }, annotations: { ...annotations, [tagAnnotations.pod]: "default/ours" } };
  const ours = {
    pods: { name: farPodName(owner, { ...home, uid: "uid" }), tags: ofPod },
    secrets: { name: copyName(owner, "Secret", home), tags: copied },
    configMaps: { name: copyName(owner, "ConfigMap", home), tags: copied },
  };
  for (const kind of ["pods", "secrets", "configMaps"] as const) {
    await put(kind, ours[kind].name, ours[kind].tags);
    // Somebody has copied it, with all that we have written.
    await put(kind, "copied-from-ours", ours[kind].tags);
    await put(kind, "others", others);
    await put(kind, "labelled-like-ours", { labels: ownerTags(owner).labels });
  }
  await put("configMaps", ownerObjectName(owner), ownerTags(owner));

  await removeFarNode(client, owner, "default", signal);
  await removeFarNode(client, owner, undefined, signal);

  const left = async (kind: "pods" | "secrets" | "configMaps"): Promise<string[]> =>
    (await client.list(resources[kind], { namespace: "default" }, { signal })).items
      .map(({ metadata }) => metadata?.name ?? "")
      .filter((name) => name !== "kube-root-ca.crt")
      .sort();
  expect(await left("pods")).toEqual(["copied-from-ours", "labelled-like-ours", "others"]);
  expect(await left("secrets")).toEqual(["copied-from-ours", "labelled-like-ours", "others"]);
  expect(await left("configMaps")).toEqual(["copied-from-ours", "labelled-like-ours", "others", ownerObjectName(owner)].sort());
});
