import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Cluster } from "./support/cluster.ts";
import { diagnoseFailure } from "./support/diagnosis.ts";
import { ownTolerations, startFarNode } from "./support/far-node.ts";
import { onNode, VirtualNode } from "./support/virtual-node.ts";

const patience = { timeoutMs: 120_000, intervalMs: 300 };
const ends = new AsyncDisposableStack();
const name = "admission";
const home = ends.use(Cluster.home(name));
const far = ends.use(Cluster.far(name));
let node: VirtualNode;

const record = "virtual-kubelet.io/carried";

/** Removes the provider's record from every pod, pulls the images of new ones from a mirror, and gives them more CPU. */
const policy = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingAdmissionPolicy",
  metadata: { name },
  spec: {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    matchConstraints: {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["pods"] }],
    },
    mutations: [
      {
        patchType: "JSONPatch",
        jsonPatch: {
          expression: `has(object.metadata.annotations) && "${record}" in object.metadata.annotations ? [JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey("${record}")}] : []`,
        },
      },
      {
        patchType: "JSONPatch",
        jsonPatch: {
          expression: `request.operation == "CREATE" ? [JSONPatch{op: "replace", path: "/spec/containers/0/image", value: "mirror.example.com/" + object.spec.containers[0].image}, JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/cpu", value: "200m"}] : []`,
        },
      },
    ],
  },
};

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "vk-admission-"));
  ends.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  for (const cluster of [home, far]) ends.use(await cluster.createNamespace());
  const binding = { policyName: name };
  await far.apply(policy, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name },
    spec: binding,
  });
  ends.defer(async () => {
    await far.say(`delete mutatingadmissionpolicybinding ${name}`);
    await far.say(`delete mutatingadmissionpolicy ${name}`);
  });
  const capacity = { cpu: "8", memory: "8Gi", pods: "20", podCIDR: "10.94.0.0/16" };
  ends.use(await startFarNode(far, { name: "far-admission", providerConfig: capacity, directory }));
  // A new policy is not in force at once.
  await eventually(async () => {
    const probe = { apiVersion: "v1", kind: "Pod", metadata: { name: "probe" }, spec: podOf("probe").spec };
    const made = JSON.parse(await far.say("create --dry-run=server -o json -f -", JSON.stringify(probe))) as DeepReadonly<Pod>;
    expect(made.spec?.containers[0]?.image).toContain("mirror.example.com");
  }, patience);
  node = ends.use(
    await VirtualNode.start(name, {
      home: home.access,
      farKubeconfig: far.access.kubeconfig.path,
      providerConfig: {
        namespaces: { mode: "same" },
        scheduling: { nodeSelector: { "kubernetes.io/hostname": "far-admission" }, tolerations: ownTolerations(far) },
      },
    }),
  );
});

beforeEach(() => diagnoseFailure({ home, far, log: () => node.log }));
afterAll(() => ends.disposeAsync());

function podOf(pod: string): { readonly spec: object } {
  const containers = [{ name: "main", image: "main:1", resources: { requests: { cpu: "100m" } } }];
  const spec = { ...onNode(name), terminationGracePeriodSeconds: 1, containers };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: pod, labels: { step: "0" } }, spec } as { readonly spec: object };
}

async function farPod(): Promise<DeepReadonly<Pod>> {
  const [pod] = await far.list<Pod>("get pods -l virtual-kubelet.io/node=admission");
  return pod ?? Promise.reject(new Error("there is no far pod"));
}

/** Changes the pod's label at home, and waits until the far pod has it. */
async function relabel(step: string): Promise<DeepReadonly<Pod>> {
  await home.say(`label pod web step=${step} --overwrite`);
  return await eventually(async () => {
    const pod = await farPod();
    expect(pod.metadata?.labels?.["step"]).toBe(step);
    return pod;
  }, patience);
}

test("what the far cluster's admission makes of a pod stays, although it removes the record of what was sent, also after a restart of the program", async () => {
  await home.apply(podOf("web"));
  await home.say("wait pod/web --for=condition=Ready --timeout=120s");
  const made = await farPod();
  expect(made.metadata?.annotations).not.toHaveProperty([record]);
  const changed = { image: "mirror.example.com/main:1", resources: { requests: { cpu: "200m" } } };
  expect(made.spec?.containers).toMatchObject([changed]);

  const first = await relabel("1");
  await node.killProgram();
  node.startProgram();
  await eventually(async () => expect(node.program?.stderr).toContain('"msg":"ready"'), patience);
  const second = await relabel("2");

  for (const pod of [first, second]) {
    expect(pod.metadata?.uid).toBe(made.metadata?.uid);
    expect(pod.metadata?.annotations).not.toHaveProperty([record]);
    expect(pod.spec?.containers).toMatchObject([changed]);
    expect(pod.status?.containerStatuses).toMatchObject([{ restartCount: 0 }]);
    expect(pod.metadata?.generation).toBe(made.metadata?.generation);
  }
  await home.say("set image pod/web main=main:2");
  await eventually(async () => expect((await farPod()).spec?.containers).toMatchObject([{ image: "main:2" }]), patience);
  await home.say("delete pod web");
});
