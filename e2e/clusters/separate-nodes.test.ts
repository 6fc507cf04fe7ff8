import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { eventually, startControlPlane } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { Cluster } from "./support/cluster.ts";
import { diagnoseFailure } from "./support/diagnosis.ts";
import { onNode, VirtualNode } from "./support/virtual-node.ts";

const patience = { timeoutMs: 180_000, intervalMs: 300 };
const ends = new AsyncDisposableStack();
const namespace = "separate";
const home = ends.use(Cluster.home(namespace));
const far = ends.use(Cluster.far(namespace));
let other: Cluster;
/** Two nodes of the home cluster, and one of another home cluster with the name of the first. */
const nodes: VirtualNode[] = [];

function podOf(pod: string, node: string): object {
  const containers = [
    {
      name: "main",
      image: "busybox:1.37",
      command: ["sleep", "3600"],
      env: [{ name: "WORD", valueFrom: { secretKeyRef: { name: "word", key: "word" } } }],
    },
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: pod },
    spec: { ...onNode(node), terminationGracePeriodSeconds: 1, containers },
  };
}

const farPods = (): Promise<readonly DeepReadonly<Pod>[]> => far.list<Pod>("get pods");
const uidOf = async (cluster: Cluster, pod: string): Promise<string> => (await cluster.json<Pod>(`get pod ${pod}`)).metadata?.uid ?? "";

beforeAll(async () => {
  other = ends.use(
    new Cluster(
      ends.use(await startControlPlane({ flags: { "kube-apiserver": { "advertise-address": inject("nodeAddress") } } })),
      namespace,
    ),
  );
  for (const cluster of [home, far, other]) ends.use(await cluster.createNamespace());
  for (const [cluster, node] of [
    [home, "separate-1"],
    [home, "separate-2"],
    [other, "separate-1"],
  ] as const) {
    await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "word" }, stringData: { word: node } });
    const options = {
      home: cluster.access,
      farKubeconfig: far.access.kubeconfig.path,
      providerConfig: { namespaces: { mode: "one", name: namespace } },
    };
    nodes.push(ends.use(await VirtualNode.start(node, options)));
  }
  await Promise.all([
    home.apply(podOf("a", "separate-1"), podOf("b", "separate-2")),
    other.apply(podOf("a", "separate-1")),
    // Somebody's own pod, which is nobody's to change.
    far.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "own" },
      spec: { containers: [{ name: "main", image: "busybox:1.37", command: ["sleep", "3600"] }] },
    }),
  ]);
  for (const cluster of [home, other]) await cluster.say("wait pods --all --for=condition=Ready --timeout=120s");
});

beforeEach(() => diagnoseFailure({ home, far, log: () => nodes.map(({ log }) => log).join("\n") }));
afterAll(() => ends.disposeAsync());

test("pods of two nodes and of two home clusters run side by side in one far namespace", async () => {
  const uids = [await uidOf(home, "a"), await uidOf(home, "b"), await uidOf(other, "a")];

  const found = await farPods();
  const tagged = found.flatMap(({ metadata }) => metadata?.labels?.["virtual-kubelet.io/pod-uid"] ?? []);
  expect(tagged.toSorted()).toEqual(uids.toSorted());
  expect(new Set(found.map(({ metadata }) => metadata?.labels?.["virtual-kubelet.io/cluster"])).size).toBe(3);
  expect(await home.say("exec a -- sh -c echo${IFS}$WORD")).toBe("separate-2\n");
  expect(await other.say("exec a -- sh -c echo${IFS}$WORD")).toBe("separate-1\n");
});

test("a node that starts again, and its sweep of orphans, touch no pod of another node or home cluster", async () => {
  const before = await farPods();
  const view = (pods: readonly DeepReadonly<Pod>[]): unknown =>
    pods.map(({ metadata, status }) => [metadata?.uid, metadata?.deletionTimestamp, status?.containerStatuses?.[0]?.restartCount]);
  for (const node of nodes) await node.killProgram();
  // The home pod of the first node vanishes while its program is away.
  const gone = await uidOf(home, "a");
  await home.say("delete pod a --grace-period=0 --force");
  for (const node of nodes) node.startProgram();

  await eventually(async () => {
    const left = await farPods();
    expect(left.map(({ metadata }) => metadata?.labels?.["virtual-kubelet.io/pod-uid"])).not.toContain(gone);
  }, patience);
  // Several sweeps of each node, which begin every two seconds.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const others = before.filter(({ metadata }) => metadata?.labels?.["virtual-kubelet.io/pod-uid"] !== gone);
  expect(view(await farPods())).toEqual(view(others));
});
