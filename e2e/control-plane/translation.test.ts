import { resources } from "@virtual-kubelet/kube-client";
import { eventually, startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { userConfig, userPod } from "../../providers/kubernetes/src/test-support/pod-arbitraries.ts";
import { neededObjects, TranslationCheck } from "../../providers/kubernetes/src/test-support/translation-check.ts";
import { openClient, type OpenClient } from "./support/cluster.ts";

// The provider kubernetes: a real API server as home and far cluster. providers/kubernetes/src/translate/translation.property.test.ts has
// more pods. The server is the file's own and has no scheduler, which would bind pods to the nodes of other files.
const numRuns = 40;
let controlPlane: ControlPlane | undefined;
let opened: OpenClient | undefined;
let check: TranslationCheck;

beforeAll(async () => {
  controlPlane = await startControlPlane({ components: ["kube-controller-manager"] });
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items: neededObjects });
  expect((await controlPlane.kubectl(["apply", "-f", "-"], { stdin })).stderr).toBe("");
  opened = await openClient(controlPlane.kubeconfig);
  const { client } = opened;
  for (const { kind, metadata } of neededObjects)
    if (kind === "Namespace")
      await eventually((signal) => client.get(resources.serviceAccounts, { namespace: metadata.name, name: "default" }, { signal }), {
        describe: `the service account of namespace ${metadata.name}`,
        timeoutMs: 60_000,
      });
  // Admission looks for priority classes in its cache only, which has them in the order of their creation.
  const last = neededObjects.findLast(({ kind }) => kind === "PriorityClass")?.metadata.name;
  const metadata = { name: "probe", namespace: "default" };
  const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { priorityClassName: last, containers: [{ name: "main", image: "main" }] } };
  await eventually(
    async () => {
      const probed = await controlPlane?.kubectl(["create", "--dry-run=server", "-f", "-"], { stdin: JSON.stringify(pod) });
      expect(probed).toMatchObject({ code: 0 });
    },
    { timeoutMs: 60_000 },
  );
  check = new TranslationCheck(client);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  await controlPlane?.[Symbol.asyncDispose]();
});

test("kube-apiserver accepts every far pod, completes it, and then nothing is left to change", async () => {
  await fc.assert(
    fc.asyncProperty(userPod, userConfig, (pod, config) => check.creation(pod, config)),
    { numRuns },
  );
});

test("a change at home reaches a far pod of kube-apiserver, once", async () => {
  await fc.assert(
    fc.asyncProperty(userPod, userConfig, userPod, (pod, config, other) => check.change(pod, config, other)),
    { numRuns },
  );
});
