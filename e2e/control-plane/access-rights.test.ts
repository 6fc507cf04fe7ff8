import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Program } from "../support/program.ts";
import { createNamespace, openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { applyPrintedRights } from "./support/printed-rights.ts";
import { Pods } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
const serviceAccountUser = "system:serviceaccount:kube-system:virtual-kubelet";
let opened: OpenClient;
let client: KubeClient;
let namespace = "";
let cleanUp: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  namespace = await createNamespace(client, "rights");
});

afterEach(async () => {
  for (const undo of cleanUp.toReversed()) await undo();
  cleanUp = [];
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

const commonWords = ["--provider", "mock", "--health-addr", "off", "--identity", "test"];

function start(words: readonly string[]): Program {
  return new Program([...words, ...commonWords], { cwd: controlPlane.directory });
}

/** Applies the rights that the dry run prints, and nothing else of it. */
async function applyRights(words: readonly string[]): Promise<void> {
  cleanUp.push(await applyPrintedRights(controlPlane, [...words, ...commonWords]));
}

/** Runs a pod that needs a secret, a config map and its services, and deletes it. */
async function runPod(nodeName: string): Promise<void> {
  const name = `pod-${nodeName}`;
  await client.create(resources.secrets, { metadata: { namespace, name }, stringData: { key: "value" } }, { signal });
  await client.create(resources.configMaps, { metadata: { namespace, name }, data: { key: "value" } }, { signal });
  const env = [
    { name: "A", valueFrom: { secretKeyRef: { name, key: "key" } } },
    { name: "B", valueFrom: { configMapKeyRef: { name, key: "key" } } },
  ];
  await client.create(
    resources.pods,
    { metadata: { namespace, name }, spec: { nodeName, containers: [{ name: "main", image: "nginx", env }] } },
    { signal },
  );
  await new Pods(client, namespace).running(name);
  await eventually(async () => {
    const { items } = await client.list(resources.events, { namespace, fieldSelector: `involvedObject.name=${name}` }, { signal });
    expect(items).not.toEqual([]);
  });
  expect((await controlPlane.kubectl(["delete", "pod", "-n", namespace, name, "--timeout=90s"])).code).toBe(0);
}

async function waitUntilReady(nodeName: string): Promise<void> {
  expect(await controlPlane.kubectl(["wait", `node/${nodeName}`, "--for=create", "--timeout=90s"])).toMatchObject({ code: 0 });
  expect(await controlPlane.kubectl(["wait", `node/${nodeName}`, "--for=condition=Ready", "--timeout=90s"])).toMatchObject({ code: 0 });
  cleanUp.push(() => controlPlane.kubectl(["delete", "node", nodeName, "--ignore-not-found"]));
}

/** What the API server forbade this user, as `verb resource/name`. */
function forbidden(user: string): string[] {
  const events = controlPlane.auditEvents().filter((event) => event.user.username === user && event.responseStatus?.code === 403);
  return events.map(({ verb, objectRef }) =>
    [`${verb} ${objectRef?.resource}`, objectRef?.subresource, objectRef?.name].filter(Boolean).join("/"),
  );
}

async function isThere(nodeName: string): Promise<boolean> {
  return (await client.list(resources.nodes, { fieldSelector: `metadata.name=${nodeName}` }, { signal })).items.length > 0;
}

test("what the dry run prints is valid, the node and its lease among it", async () => {
  await using program = start(["--nodename", "rights-dry", "--on-shutdown", "drain", "--dry-run"]);
  expect(await program.exit).toBe(0);

  const applied = await controlPlane.kubectl(["apply", "--dry-run=server", "--validate=strict", "-f", "-"], { stdin: program.stdout });

  expect(applied).toMatchObject({ code: 0, stderr: "" });
  expect(applied.stdout).toContain("node/rights-dry created (server dry run)");
});

test.for(["keep", "drain", "delete"] as const)(
  "with on-shutdown %s a service account with the printed rights is never forbidden anything",
  async (policy) => {
    const nodeName = `rights-${policy}`;
    const words = ["--nodename", nodeName, "--on-shutdown", policy];
    await applyRights(words);
    const { stdout: token } = await controlPlane.kubectl(["create", "token", "virtual-kubelet", "-n", "kube-system"]);
    await using program = start([...words, "--kubeconfig", controlPlane.kubeconfigWith({ token: token.trim() }).path]);
    await waitUntilReady(nodeName);
    await runPod(nodeName);
    const left = { metadata: { namespace, name: `left-${policy}` }, spec: { nodeName, containers: [{ name: "main", image: "nginx" }] } };
    await client.create(resources.pods, left, { signal });
    await new Pods(client, namespace).running(left.metadata.name);

    program.kill("SIGTERM");

    expect(await program.exit).toBe(0);
    expect(forbidden(serviceAccountUser)).toEqual([]);
    expect(await isThere(nodeName)).toBe(policy !== "delete");
    const { items } = await client.list(resources.pods, { namespace, fieldSelector: `spec.nodeName=${nodeName}` }, { signal });
    if (policy !== "delete") expect(items.map(({ metadata }) => metadata?.name)).toEqual(policy === "keep" ? ["left-keep"] : []);
  },
);

test("as system:node:NAME under the Node authorizer the printed rights are all that is missing", async () => {
  const nodeName = "rights-node";
  const user = `system:node:${nodeName}`;
  const words = ["--nodename", nodeName, "--on-shutdown", "delete"];
  await applyRights(words);
  await using program = start([...words, "--kubeconfig", controlPlane.kubeconfigFor(user, ["system:nodes"]).path]);
  await waitUntilReady(nodeName);
  await runPod(nodeName);

  program.kill("SIGTERM");

  expect(await program.exit).toBe(0);
  expect(await isThere(nodeName)).toBe(false);
  // NodeRestriction refuses labels that are not a kubelet's, at the first try; the node is then made without them.
  expect(forbidden(user).filter((refusal) => !/^(create nodes|patch nodes)/.test(refusal))).toEqual([]);
});
