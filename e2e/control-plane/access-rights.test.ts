import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Program } from "../support/program.ts";
import { createNamespace, openClient, sharedControlPlane, untilAllowed, type OpenClient } from "./support/cluster.ts";
import { applyPrintedRights } from "./support/printed-rights.ts";
import { Pods } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
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

/** Applies the printed rights. @returns the service account */
async function applyRights(words: readonly string[], runAs: "node" | "service-account"): Promise<string> {
  const { account, undo } = await applyPrintedRights(controlPlane, [...words, ...commonWords, `--run-as=${runAs}`]);
  cleanUp.push(undo);
  return account;
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

/** Requests of this user that the API server has forbidden, as `verb resource/name`. */
function forbidden(user: string): string[] {
  const events = controlPlane.auditEvents().filter((event) => event.user.username === user && event.responseStatus?.code === 403);
  return events.map(({ verb, objectRef }) =>
    [`${verb} ${objectRef?.resource}`, objectRef?.subresource, objectRef?.name].filter(Boolean).join("/"),
  );
}

async function isThere(nodeName: string): Promise<boolean> {
  return (await client.list(resources.nodes, { fieldSelector: `metadata.name=${nodeName}` }, { signal })).items.length > 0;
}

test.for(["node", "service-account"] as const)("the printed manifests of a %s are valid", async (runAs) => {
  const words = ["--nodename", "rights-dry", "--on-shutdown", "drain", `--run-as=${runAs}`];
  await using program = start(["manifests", "all", ...words]);
  expect(await program.exit).toBe(0);

  const applied = await controlPlane.kubectl(["apply", "--dry-run=server", "--validate=strict", "-f", "-"], { stdin: program.stdout });

  expect(applied).toMatchObject({ code: 0, stderr: "" });
  expect(applied.stdout).toContain("node/rights-dry created (server dry run)");
});

test("the printed rights in a cluster that is the back end are valid, and allow what they say and no more", async () => {
  const words = ["--nodename", "rights-far", "--provider", "kubernetes", "--health-addr", "off"];
  await using program = new Program(["manifests", "far", ...words], { cwd: controlPlane.directory });
  expect(await program.exit).toBe(0);

  const applied = await controlPlane.kubectl(["apply", "--validate=strict", "-f", "-"], { stdin: program.stdout });
  cleanUp.push(() => controlPlane.kubectl(["delete", "--ignore-not-found", "-f", "-"], { stdin: program.stdout }));

  expect(applied).toMatchObject({ code: 0, stderr: "" });
  const user = "system:serviceaccount:default:virtual-kubelet-rights-far";
  const canI = async (...words: string[]): Promise<string> =>
    (await controlPlane.kubectl(["auth", "can-i", ...words, `--as=${user}`])).stdout.trim();
  await untilAllowed(controlPlane, user, ["create", "pods/exec", "-n", "default"]);
  await untilAllowed(controlPlane, user, ["patch", "pods/ephemeralcontainers", "-n", "default"]);
  await untilAllowed(controlPlane, user, ["watch", "nodes"]);
  expect(await canI("get", "secrets", "-n", "kube-system")).toBe("no");
  expect(await canI("get", "nodes/proxy")).toBe("no");
});

test("applying the output of a dry run creates neither a Node nor a Lease", async () => {
  await using program = start(["--nodename", "rights-ghost", "--kubeconfig", controlPlane.kubeconfig.path, "--dry-run"]);
  expect(await program.exit).toBe(0);
  expect(program.stdout).toContain("  node: does not exist; would be created\n  lease: does not exist; would be created\n");

  const applied = await controlPlane.kubectl(["apply", "-f", "-"], { stdin: program.stdout });

  expect(applied.code).not.toBe(0);
  expect(await isThere("rights-ghost")).toBe(false);
  const leases = await client.list(
    resources.leases,
    { namespace: "kube-node-lease", fieldSelector: "metadata.name=rights-ghost" },
    { signal },
  );
  expect(leases.items).toEqual([]);
});

test("a Node that was applied beforehand becomes Ready when its program runs as the node's user, which keeps its labels and taints", async () => {
  const name = "rights-before";
  const words = ["--nodename", name];
  await using printing = start(["manifests", "all", ...words, "--label", "team=a"]);
  expect(await printing.exit).toBe(0);
  expect(await controlPlane.kubectl(["apply", "-f", "-"], { stdin: printing.stdout })).toMatchObject({ code: 0 });
  cleanUp.push(() => controlPlane.kubectl(["delete", "--ignore-not-found", "-f", "-"], { stdin: printing.stdout }));
  const isReady = async (): Promise<boolean> =>
    (await client.get(resources.nodes, { name }, { signal })).status?.conditions?.some(
      ({ type, status }) => type === "Ready" && status === "True",
    ) ?? false;
  expect(await isReady()).toBe(false);

  await using _program = start([
    ...words,
    "--label",
    "team=a",
    "--kubeconfig",
    controlPlane.kubeconfigFor(`system:node:${name}`, ["system:nodes"]).path,
  ]);
  await waitUntilReady(name);

  const { metadata, spec } = await client.get(resources.nodes, { name }, { signal });
  expect(metadata?.labels).toMatchObject({ team: "a", "kubernetes.io/role": "agent" });
  expect(spec?.taints).toContainEqual({ key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" });
});

test.for(["keep", "drain", "delete"] as const)(
  "with on-shutdown %s no request of a service account with the printed rights is forbidden",
  async (policy) => {
    const nodeName = `rights-${policy}`;
    const words = ["--nodename", nodeName, "--on-shutdown", policy];
    const account = await applyRights(words, "service-account");
    const { stdout: token } = await controlPlane.kubectl(["create", "token", account, "-n", "kube-system"]);
    await using program = start([...words, "--kubeconfig", controlPlane.kubeconfigWith({ token: token.trim() }).path]);
    await waitUntilReady(nodeName);
    await runPod(nodeName);
    const left = { metadata: { namespace, name: `left-${policy}` }, spec: { nodeName, containers: [{ name: "main", image: "nginx" }] } };
    await client.create(resources.pods, left, { signal });
    await new Pods(client, namespace).running(left.metadata.name);

    program.kill("SIGTERM");

    expect(await program.exit).toBe(0);
    expect(forbidden(`system:serviceaccount:kube-system:${account}`)).toEqual([]);
    expect(await isThere(nodeName)).toBe(policy !== "delete");
    const { items } = await client.list(resources.pods, { namespace, fieldSelector: `spec.nodeName=${nodeName}` }, { signal });
    if (policy !== "delete") expect(items.map(({ metadata }) => metadata?.name)).toEqual(policy === "keep" ? ["left-keep"] : []);
  },
);

test("as system:node:NAME under the Node authorizer no rights besides the printed ones are needed", async () => {
  const nodeName = "rights-node";
  const user = `system:node:${nodeName}`;
  const words = ["--nodename", nodeName, "--on-shutdown", "delete"];
  await applyRights(words, "node");
  await using program = start([...words, "--kubeconfig", controlPlane.kubeconfigFor(user, ["system:nodes"]).path]);
  await waitUntilReady(nodeName);
  await runPod(nodeName);

  program.kill("SIGTERM");

  expect(await program.exit).toBe(0);
  expect(await isThere(nodeName)).toBe(false);
  // NodeRestriction refuses the first attempt because of labels that kubelets may not set; the node is then created without them.
  expect(forbidden(user).filter((refusal) => !/^(create nodes|patch nodes)/.test(refusal))).toEqual([]);
});

test("a service account that is limited to a namespace runs pods there, but reads no Secret and creates no token elsewhere", async () => {
  const nodeName = "rights-limited";
  const words = ["--nodename", nodeName];
  const account = await applyRights([...words, "--namespaces", namespace], "service-account");
  const user = `system:serviceaccount:kube-system:${account}`;
  const { stdout: token } = await controlPlane.kubectl(["create", "token", account, "-n", "kube-system"]);
  await using program = start([...words, "--kubeconfig", controlPlane.kubeconfigWith({ token: token.trim() }).path]);
  await waitUntilReady(nodeName);
  await runPod(nodeName);

  expect(forbidden(user)).toEqual([]);
  const canI = async (...words: string[]): Promise<string> =>
    (await controlPlane.kubectl(["auth", "can-i", ...words, `--as=${user}`])).stdout.trim();
  expect(await canI("get", "secrets", "-n", namespace)).toBe("yes");
  expect(await canI("get", "secrets", "-n", "kube-system")).toBe("no");
  expect(await canI("create", "serviceaccounts/token", "-n", "kube-system", "--subresource=token")).toBe("no");
  expect(await canI("delete", "pods", "-n", "kube-system")).toBe("no");
  program.kill("SIGTERM");
  expect(await program.exit).toBe(0);
});
