import { execFile } from "node:child_process";
import { eventually, openControlPlane } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Program } from "../support/program.ts";

const controlPlane = openControlPlane(inject("controlPlane"));
const nodeName = "upstream-node";
const namespace = "upstream-e2e";
const resources = new AsyncDisposableStack();

/** Names of all tests of the suite. */
const names = [
  "TestCreatePodWithMandatoryInexistentConfigMap",
  "TestCreatePodWithMandatoryInexistentSecrets",
  "TestCreatePodWithOptionalInexistentConfigMap",
  "TestCreatePodWithOptionalInexistentSecrets",
  "TestGetMetricsResource",
  "TestGetPods",
  "TestGetStatsSummary",
  "TestPodLifecycleForceDelete",
  "TestPodLifecycleGracefulDelete",
];

const rbac = "rbac.authorization.k8s.io";
const figuresForAnybody = { name: "figures-for-anybody" };

/**
 * The suite requests figures through the API server's pod proxy, from port 10250 of a pod with the node's name, because upstream
 * deploys its program as that pod. The proxy sends no credentials to pods, so anonymous users may read figures here.
 */
const manifests = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: nodeName, namespace },
    spec: { schedulerName: "none", containers: [{ name: "virtual-kubelet", image: "virtual-kubelet" }] },
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRole",
    metadata: figuresForAnybody,
    rules: [{ apiGroups: [""], resources: ["nodes/stats", "nodes/metrics"], verbs: ["get"] }],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: figuresForAnybody,
    roleRef: { apiGroup: rbac, kind: "ClusterRole", ...figuresForAnybody },
    subjects: [{ apiGroup: rbac, kind: "User", name: "system:anonymous" }],
  },
];

let output = "";
/** Outcomes such as `PASS`, by the name of the test. */
let outcomes: ReadonlyMap<string | undefined, string | undefined> = new Map();

/** Runs the suite. @returns its output, and the error if it failed */
function runSuite(): Promise<string> {
  const env = { KUBECONFIG: controlPlane.kubeconfig.path, NAMESPACE: namespace, NODE_NAME: nodeName };
  return new Promise((resolve) => {
    execFile(inject("upstreamE2e"), ["-test.v", "-test.timeout=300s"], { env }, (error, stdout, stderr) =>
      resolve(`${stdout}${stderr}${error?.message ?? ""}`),
    );
  });
}

beforeAll(async () => {
  const podIP = inject("nodeAddress");
  const stdin = manifests.map((object) => JSON.stringify(object)).join("\n---\n");
  // Pods are refused until the namespace has its service account.
  await eventually(async () => expect(await controlPlane.kubectl(["apply", "-f", "-"], { stdin })).toMatchObject({ code: 0 }));
  const status = JSON.stringify({ status: { podIP, podIPs: [{ ip: podIP }] } });
  const patch = ["patch", "pod", nodeName, "--namespace", namespace, "--subresource=status", "--patch", status];
  expect(await controlPlane.kubectl(patch)).toMatchObject({ code: 0 });
  const words = ["--kubeconfig", controlPlane.kubeconfig.path, "--provider", "mock", "--nodename", nodeName, "--health-addr", "off"];
  const more = ["--identity", "test", "--node-ip", podIP, "--kubelet-port", "10250", "--anonymous-auth"];
  resources.use(new Program([...words, ...more], { cwd: controlPlane.directory }));

  output = await runSuite();
  outcomes = new Map([...output.matchAll(/^ +--- (\w+): TestUpstream\/(\w+) /gm)].map(([, outcome, name]) => [name, outcome]));
});

afterAll(() => resources.disposeAsync());

test("upstream's suite consists of exactly these tests", () => {
  expect([...outcomes.keys()].toSorted(), output).toEqual(names);
});

test.for(names)("%s of upstream's suite passes", (name) => {
  expect(outcomes.get(name), output).toBe("PASS");
});
