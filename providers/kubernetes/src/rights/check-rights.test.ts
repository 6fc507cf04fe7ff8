import { VirtualClock } from "@virtual-kubelet/clock";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, type KubeClient } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { configOf } from "../test-support/far-nodes.ts";
import { checkRights } from "./check-rights.ts";
import { accountName, farManifest } from "./far-manifest.ts";

const { signal } = new AbortController();
const input = { namespaces: { mode: "one", name: "vk" }, node: { capacity: "nodes" }, usage: "metrics-api" };
const config = configOf(input);

/** The far cluster of a virtual node that has the printed rights for a configuration. */
async function withRights(granted: object, use: (client: KubeClient) => Promise<void>): Promise<void> {
  const { objects } = farManifest(configOf(granted), "far-1");
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "vk" } };
  await using far = await startApiServer({
    listen: false,
    controllers: false,
    serviceAccounts: true,
    objects: [namespace, ...objects.map(({ object }) => object)],
  });
  const user = { user: `system:serviceaccount:vk:${accountName("far-1")}`, groups: ["system:serviceaccounts", "system:authenticated"] };
  await use(createKubeClient(far.transport(user), { clock: new VirtualClock() }));
}

test("the printed rights suffice", async () => {
  await withRights(input, async (client) => {
    await expect(checkRights(client, config, "vk", signal)).resolves.toBeUndefined();
  });
});

test("each missing right is named with what it is for, and what to do", async () => {
  await withRights({ ...input, node: { capacity: "quota" }, events: false }, async (client) => {
    await expect(checkRights(client, config, "vk", signal)).rejects.toThrow(
      "the far cluster does not allow: list, watch events in namespace vk, which shows events of far pods; list, watch nodes in the whole cluster, " +
        "which describes the node by the far nodes. Apply there what virtual-kubelet manifests far prints, with an administrator's credentials",
    );
  });
});

test("the far nodes, which auto can do without, are not asked for", async () => {
  await withRights({ ...input, node: { capacity: "quota" } }, async (client) => {
    await expect(checkRights(client, configOf({ ...input, node: {} }), "vk", signal)).resolves.toBeUndefined();
  });
});

test("rights in one namespace do not count for all", async () => {
  await withRights(input, async (client) => {
    const everywhere = configOf({ ...input, namespaces: { mode: "same" } });
    await expect(checkRights(client, everywhere, undefined, signal)).rejects.toThrow(
      /create, get, list, watch, patch, delete pods in the whole cluster/,
    );
  });
});

test("an answer that is no review is not taken for a right", async () => {
  await expect(checkRights({ raw: () => Promise.resolve({ kind: "Status" }) }, config, "vk", signal)).rejects.toThrow(
    /is not a SelfSubjectAccessReview/,
  );
});
