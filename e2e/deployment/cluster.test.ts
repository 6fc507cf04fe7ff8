import { instanceAnnotation } from "../../packages/core/src/node/instance.ts";
import { resources, type Lease, type Pod } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { startFakeNomad, type FakeNomad } from "../nomad/fake/start-fake-nomad.ts";
import { Program } from "../support/program.ts";
import { chart, Helm } from "./support/helm.ts";
import { Machine } from "./support/machine.ts";
import { programImage } from "./support/program-image.ts";

const { signal } = new AbortController();
const ends = new AsyncDisposableStack();
let machine: Machine;
let helm: Helm;
let nomad: FakeNomad;

/** The chart's release, and the label of its pods. */
const release = { name: "vk", namespace: "vk-system", label: "app.kubernetes.io/instance=vk" };
const account = `system:serviceaccount:${release.namespace}:vk-virtual-kubelet`;
const container = "virtual-kubelet";

/** Duration of the leases: the program's default. */
const leaseMs = 40_000;

/** How often a copy that stands by looks at the lease, and what a busy machine may add. */
const lookMs = 2_000;
const busyMs = 20_000;

/**
 * Time for an old copy to end, and for another to take what it left: within five seconds, and what a busy machine may add. Less than the 30
 * seconds that a lease has left at least, because it is renewed every ten: no copy has waited for its end.
 */
const handOverMs = 5_000 + busyMs;

const token = "secret-of-nomad";

beforeAll(async () => {
  nomad = ends.use(await startFakeNomad(inject("nodeAddress")));
  nomad.tokens = new Set([token]);
  machine = ends.use(await Machine.start());
  helm = ends.use(await Helm.open(machine.controlPlane.kubeconfig.path));
});
afterAll(() => ends.disposeAsync());

/** Values of a release with two nodes: Nomad, whose pods outlive the program, and mock. */
function values(more: object = {}): object {
  return {
    image: programImage,
    replicas: 2,
    readinessProbe: { periodSeconds: 1 },
    providerSecret: "nomad",
    config: {
      nodes: [
        { name: "vk-mock", provider: "mock" },
        { name: "vk-nomad", provider: "nomad", providerConfigFile: "nomad.json" },
      ],
      ...more,
    },
  };
}

/** A Deployment on a virtual node. */
function deployment(name: string, nodeName: string, replicas: number): object {
  const labels = { app: name };
  const template = {
    metadata: { labels },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": nodeName },
      tolerations: [{ key: "virtual-kubelet.io/provider", operator: "Exists" }],
      containers: [
        {
          name: "main",
          image: "busybox:1.37",
          command: ["sh", "-c", "echo hello from $NAME; sleep 100000"],
          env: [{ name: "NAME", valueFrom: { secretKeyRef: { name: "who", key: "name" } } }],
        },
      ],
    },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: { replicas, selector: { matchLabels: labels }, template },
  };
}

async function lease(nodeName: string): Promise<Lease> {
  return await client().get(resources.leases, { namespace: "kube-node-lease", name: nodeName }, { signal });
}

function client(): Machine["client"] {
  return machine.client;
}

/** The pod of the program that runs a node. */
async function holder(nodeName: string): Promise<string> {
  return (await lease(nodeName)).metadata?.annotations?.[instanceAnnotation] ?? "";
}

async function helmSays(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await helm.run(...args);
  expect(code, `helm ${args.join(" ")}: ${stderr}`).toBe(0);
  return stdout;
}

async function upgrade(more: object = {}): Promise<string> {
  const place = ["--namespace", release.namespace, "--create-namespace", "--wait", "--timeout", "3m"];
  return await helmSays("upgrade", "--install", release.name, chart, ...place, ...(await helm.values(values(more))));
}

/** What changes when a pod or its container starts again. */
async function starts(): Promise<unknown> {
  const pods = await machine.pods("default", "app=web");
  const startOf = ({ metadata, status }: Pod): unknown => [
    metadata?.uid,
    status?.phase,
    status?.containerStatuses?.map(({ containerID, restartCount, state }) => [containerID, restartCount, state?.running?.startedAt]),
  ];
  return pods.map(startOf).toSorted();
}

test("the chart brings up two nodes with two copies of the program, whose pods run, and the API server reaches their logs", async () => {
  await machine.kubectl("create", "namespace", release.namespace);
  const config = JSON.stringify({ address: nomad.address, token, purgeAfter: "0" });
  await machine.kubectl("create", "secret", "generic", "nomad", "-n", release.namespace, `--from-literal=nomad.json=${config}`);
  await machine.kubectl("create", "secret", "generic", "who", "--from-literal=name=a-secret");

  const notes = await upgrade();

  expect(notes).toContain("kubectl wait node/vk-mock --for=condition=Ready");
  for (const node of ["vk-nomad", "vk-mock"]) await machine.kubectl("wait", `node/${node}`, "--for=condition=Ready", "--timeout=60s");
  const pods = await machine.pods(release.namespace, release.label);
  expect(pods.map(({ spec }) => spec?.nodeName)).toEqual(["machine-1", "machine-1"]);
  const [, overrides = ""] = /kubectl run hello --image=nginx --overrides='(.*)'/.exec(notes) ?? [];
  await machine.kubectl("run", "hello", "--image=nginx", `--overrides=${overrides}`);
  await machine.kubectl("wait", "pod/hello", "--for=condition=Ready", "--timeout=60s");
  await machine.apply(deployment("web", "vk-nomad", 3), deployment("script", "vk-mock", 1));
  await machine.kubectl("rollout", "status", "deployment/web", "--timeout=120s");
  await machine.kubectl("rollout", "status", "deployment/script", "--timeout=60s");
  await eventually(async () => expect(await machine.kubectl("logs", "deployment/web")).toContain("hello from a-secret"), {
    timeoutMs: 60_000,
  });
  expect(machine.forbidden(account)).toEqual([]);
});

test("the program runs as an ordinary user on a file system that it cannot write to, and has no password of Nomad in its ConfigMap", async () => {
  const exec = (...words: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    machine.controlPlane.kubectl(["exec", "-n", release.namespace, "deployment/vk-virtual-kubelet", "--", ...words]);

  expect((await exec("id", "-u")).stdout.trim()).toBe("65532");
  expect((await exec("touch", "/app/x")).stderr).toContain("Read-only file system");
  expect((await exec("ls", "/var/lib/virtual-kubelet")).stdout.split("\n")).toContain("vk-nomad");
  expect(await machine.kubectl("get", "configmap", "-n", release.namespace, "-o", "yaml")).not.toContain(token);
});

test("a copy that stands by takes the nodes over when the live one is killed and nothing starts it again, and no pod restarts", async () => {
  const before = await starts();
  const live = await holder("vk-nomad");
  // A kubelet would start the container again, which would then take its own node back.
  await machine.killKubelet();

  await machine.killContainer(live, container);
  const killedMs = Date.now();
  await eventually(async () => expect(await holder("vk-nomad")).not.toBe(live), { timeoutMs: leaseMs + lookMs + busyMs, intervalMs: 250 });
  const tookMs = Date.now() - killedMs;

  console.log(
    `the copy that stood by took over ${(tookMs / 1000).toFixed(1)} s after the live one was killed; leases last ${leaseMs / 1000} s`,
  );
  expect(tookMs).toBeGreaterThan(leaseMs / 2);
  machine.startKubelet();
  await machine.kubectl("wait", "node/vk-nomad", "--for=condition=Ready", "--timeout=60s");
  await machine.kubectl("rollout", "status", "deployment/vk-virtual-kubelet", "-n", release.namespace, "--timeout=120s");
  await machine.kubectl("scale", "deployment/web", "--replicas=4");
  await machine.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
  expect(await starts()).toEqual(expect.arrayContaining(before as unknown[]));
  expect(machine.forbidden(account)).toEqual([]);
});

test("a container that is killed is started again, and takes its nodes back at once", async () => {
  const live = await holder("vk-nomad");
  const { spec } = await lease("vk-nomad");

  await machine.killContainer(live, container);
  const killedMs = Date.now();
  const acquired = await eventually(
    async () => {
      const { spec: now } = await lease("vk-nomad");
      expect(now?.acquireTime).not.toBe(spec?.acquireTime);
      return Date.parse(now?.acquireTime ?? "");
    },
    { timeoutMs: 60_000, intervalMs: 250 },
  );

  console.log(`a killed container had its node again after ${((Date.now() - killedMs) / 1000).toFixed(1)} s`);
  // Before the lease could expire, however long the container took to start.
  expect(acquired).toBeLessThan(Date.parse(spec?.renewTime ?? "") + leaseMs);
  expect(await holder("vk-nomad")).toBe(live);
});

test("an upgrade hands the nodes over within seconds, and so does a rollback; no pod restarts, and the node stays Ready", async () => {
  const before = await starts();
  const transitions = async (): Promise<unknown> => {
    const { status } = await client().get(resources.nodes, { name: "vk-nomad" }, { signal });
    return status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
  };
  const wasReadySince = await transitions();
  const copies = async (): Promise<string[]> =>
    (await machine.pods(release.namespace, release.label)).map(({ metadata }) => metadata?.name ?? "");
  const goesOnWithout = async (old: readonly string[]): Promise<void> => {
    const doneMs = Date.now();
    await eventually(async () => expect(old).not.toContain(await holder("vk-nomad")), { timeoutMs: handOverMs, intervalMs: 250 });
    console.log(`the node went on without the old copies ${((Date.now() - doneMs) / 1000).toFixed(1)} s after Helm was done`);
  };

  const first = await copies();
  await upgrade({ log: { level: "debug" } });
  await goesOnWithout(first);
  const second = await copies();
  await helmSays("rollback", release.name, "1", "--namespace", release.namespace, "--wait", "--timeout", "3m");
  await goesOnWithout(second);

  // The node was never lost from sight.
  expect(await transitions()).toBe(wasReadySince);
  expect(await starts()).toEqual(before);
  expect(machine.forbidden(account)).toEqual([]);
});

test("after the end of the release, its objects are gone, and the nodes and their pods stay until somebody removes them", async () => {
  // As the notes say.
  await machine.kubectl("drain", "vk-mock", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s");
  await helmSays("uninstall", release.name, "--namespace", release.namespace, "--wait", "--timeout", "3m");

  const kinds = "deployments,pods,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,poddisruptionbudgets";
  const left = async (): Promise<string> => await machine.kubectl("get", kinds, "--all-namespaces", "-l", release.label, "-o", "name");
  await eventually(async () => expect(await left()).toBe(""), { timeoutMs: 90_000, intervalMs: 500 });
  expect(await machine.kubectl("get", "nodes", "-o", "name")).toBe("node/machine-1\nnode/vk-mock\nnode/vk-nomad\n");
  expect(nomad.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
  await machine.kubectl("delete", "node", "vk-mock", "vk-nomad");
  await machine.kubectl("delete", "deployment", "web", "script");
});

test("the manifests that the program prints bring up a node with no more rights than they contain", async () => {
  const directory = await mkdtemp(join(tmpdir(), "vk-manifests-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  const config = {
    apiVersion: "virtual-kubelet.io/v1alpha1",
    kind: "VirtualKubelet",
    nodes: [{ name: "vk-plain", provider: "nomad", providerConfig: { address: nomad.address, token } }],
  };
  await writeFile(join(directory, "vk.json"), JSON.stringify(config));
  const words = ["deployment", "--config", "vk.json", "--image", `${programImage.repository}:${programImage.tag}`, "--replicas", "2"];
  await using program = new Program(["manifests", ...words], { cwd: directory, env: { KUBELET_PORT: "" } });
  expect(await program.exit, program.stderr).toBe(0);

  await machine.apply(program.stdout);

  await machine.kubectl("rollout", "status", "deployment/virtual-kubelet-vk-plain", "-n", "kube-system", "--timeout=120s");
  await machine.kubectl("wait", "node/vk-plain", "--for=condition=Ready", "--timeout=60s");
  await machine.apply(deployment("plain", "vk-plain", 1));
  await machine.kubectl("rollout", "status", "deployment/plain", "--timeout=60s");
  await eventually(async () => expect(await machine.kubectl("logs", "deployment/plain")).toContain("hello from a-secret"), {
    timeoutMs: 60_000,
  });
  expect(machine.forbidden("system:serviceaccount:kube-system:virtual-kubelet-vk-plain")).toEqual([]);
  const deleted = await machine.controlPlane.kubectl(["delete", "--wait=false", "-f", "-"], { stdin: program.stdout });
  expect(deleted).toMatchObject({ code: 0 });
});
