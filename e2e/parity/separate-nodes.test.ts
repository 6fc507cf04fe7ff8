import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, kubeconfigText } from "@virtual-kubelet/testing";
import { expect, onTestFinished } from "vitest";
import { Program } from "../support/program.ts";
import { Api } from "./support/api.ts";
import { test, type ParityFixtures } from "./support/parity-test.ts";

const soon = { timeoutMs: 150_000 };
const collections: Readonly<Record<string, string>> = {
  Node: "/api/v1/nodes",
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
};

/** A node as its administrator sets it up, and its user. */
interface SetUpNode extends AsyncDisposable {
  readonly name: string;
  /** API server, as the node's user. */
  readonly user: Api;
  readonly program: Program;
}

/** Follows the guide: applies the printed manifests, gives the node's user a certificate, starts the program. */
async function setUpNode(
  name: string,
  folder: string,
  { api, target, certificateOf }: Pick<ParityFixtures, "api" | "target" | "certificateOf">,
): Promise<SetUpNode> {
  const words = ["--provider", "mock", "--nodename", name, "--identity", name, "--health-addr", "off"];
  await using printing = new Program(["manifests", "all", "-o", "json", ...words], { cwd: folder });
  expect(await printing.exit).toBe(0);
  const { items } = JSON.parse(printing.stdout) as { items: { kind: string; metadata: { name: string; namespace?: string } }[] };
  for (const object of items) {
    const namespaced = `/apis/rbac.authorization.k8s.io/v1/namespaces/${object.metadata.namespace ?? ""}/${object.kind.toLowerCase()}s`;
    const path = collections[object.kind] ?? namespaced;
    await api.create(path, object);
    onTestFinished(async () => void (await api.delete(`${path}/${object.metadata.name}`)));
  }
  const credentials = certificateOf(`system:node:${name}`, ["system:nodes"]);
  const kubeconfig = join(folder, `${name}.kubeconfig`);
  const text = kubeconfigText({
    server: target.server,
    caCertificate: target.ca,
    credentials: { certificate: credentials.cert, key: credentials.key },
  });
  await writeFile(kubeconfig, text, { mode: 0o600 });
  const user = new Api({ ...target, credentials });
  const program = new Program([...words, "--kubeconfig", kubeconfig], { cwd: folder });
  return {
    name,
    user,
    program,
    async [Symbol.asyncDispose]() {
      user[Symbol.dispose]();
      await program[Symbol.asyncDispose]();
    },
  };
}

async function isReady(api: Api, name: string): Promise<void> {
  const { body } = await api.get(`/api/v1/nodes/${name}`);
  const conditions = (body.status?.conditions ?? []) as { type: string; status: string }[];
  expect(conditions.find(({ type }) => type === "Ready")?.status).toBe("True");
}

/** A pod on the node that uses a secret of its own. */
async function runPod(api: Api, core: string, node: string): Promise<{ readonly uid: string }> {
  const name = `pod-${node}`;
  await api.create(`${core}/secrets`, { metadata: { name: `secret-${node}` }, stringData: { key: "value" } });
  const env = [{ name: "A", valueFrom: { secretKeyRef: { name: `secret-${node}`, key: "key" } } }];
  const spec = { nodeName: node, terminationGracePeriodSeconds: 1, containers: [{ name: "main", image: "main:1", env }] };
  const { metadata } = await api.create(`${core}/pods`, { metadata: { name }, spec });
  await podIsRunning(api, core, node);
  return { uid: metadata.uid as string };
}

async function podIsRunning(api: Api, core: string, node: string): Promise<void> {
  await eventually(async () => expect((await api.get(`${core}/pods/pod-${node}`)).body.status?.phase).toBe("Running"), soon);
}

test("of two nodes that were set up with printed manifests, neither can change the other's Node, Lease or pods", async ({
  api,
  certificateOf,
  core,
  namespace,
  target,
}) => {
  const fixtures = { api, certificateOf, target };
  const folder = await mkdtemp(join(tmpdir(), "vk-separate-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [one, two] = [`${namespace}-1`, `${namespace}-2`];
  await using first = await setUpNode(one, folder, fixtures);
  // The first node already runs when the second one's manifests are applied.
  await eventually(() => isReady(api, one), soon);
  await using second = await setUpNode(two, folder, fixtures);
  await eventually(() => isReady(api, two), soon);
  const pods = { [one]: await runPod(api, core, one), [two]: await runPod(api, core, two) };

  for (const [attacker, victim] of [
    [first, second.name],
    [second, first.name],
  ] as const) {
    const { user } = attacker;
    const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${victim}`;
    const pod = `${core}/pods/pod-${victim}`;
    const { body: stolen } = await api.get(lease);
    const boundToken = {
      spec: { audiences: [], boundObjectRef: { kind: "Pod", apiVersion: "v1", name: `pod-${victim}`, uid: pods[victim]?.uid } },
    };
    const unbound = { spec: { audiences: [] } };
    const statuses = {
      readNode: (await user.get(`/api/v1/nodes/${victim}`)).status,
      patchNode: (await user.patch("merge", `/api/v1/nodes/${victim}`, { spec: { unschedulable: true } })).status,
      patchNodeStatus: (await user.patch("merge", `/api/v1/nodes/${victim}/status`, { status: { addresses: [] } })).status,
      deleteNode: (await user.delete(`/api/v1/nodes/${victim}`)).status,
      readLease: (await user.get(lease)).status,
      replaceLease: (await user.put(lease, stolen)).status,
      deleteLease: (await user.delete(lease)).status,
      patchPodStatus: (await user.patch("merge", `${pod}/status`, { status: { phase: "Failed" } })).status,
      deletePod: (await user.delete(pod)).status,
      evictPod: (await user.post(`${pod}/eviction`, { metadata: { name: `pod-${victim}`, namespace } })).status,
      listPods: (await user.get(`/api/v1/pods?fieldSelector=spec.nodeName%3D${victim}`)).status,
      readSecret: (await user.get(`${core}/secrets/secret-${victim}`)).status,
      listSecrets: (await user.get(`${core}/secrets`)).status,
      tokenOfPod: (await user.post(`${core}/serviceaccounts/default/token`, boundToken)).status,
      tokenOfNobody: (await user.post(`${core}/serviceaccounts/default/token`, unbound)).status,
      rights: (await user.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")).status,
    };
    expect(Object.entries(statuses).filter(([, status]) => status !== 403)).toEqual([]);
    // The node can read its own objects.
    expect((await user.get(`/api/v1/nodes/${attacker.name}`)).status).toBe(200);
    expect((await user.get(`${core}/secrets/secret-${attacker.name}`)).status).toBe(200);
  }

  for (const node of [first, second]) {
    await isReady(api, node.name);
    await podIsRunning(api, core, node.name);
    await api.delete(`${core}/pods/pod-${node.name}`);
    await eventually(async () => expect((await api.get(`${core}/pods/pod-${node.name}`)).status).toBe(404), soon);
    expect(await node.program.end("SIGTERM")).toBe(0);
  }
});
