import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { eventually, startFaultProxy, type FaultProxy } from "@virtual-kubelet/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createNamespace, openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { applyPrintedRights } from "./support/printed-rights.ts";
import { forgetNode, nodeToBe, readyCondition, startNode, uniqueName, type TestNode } from "./support/test-node.ts";
import { podOn, Pods } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
let client: KubeClient;
let namespace = "";
let pods: Pods;
let proxy: FaultProxy;
let node: TestNode;

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
});

beforeEach(async () => {
  namespace = await createNamespace(client, "faults");
  pods = new Pods(client, namespace);
  proxy = await startFaultProxy({ target: controlPlane.target });
  node = await startNode({ kubeconfig: proxy.kubeconfig });
  await nodeToBe(client, node.name, "True");
});

afterEach(async () => {
  proxy.clear();
  await node.stop();
  await forgetNode(controlPlane, node.name);
  await proxy[Symbol.asyncDispose]();
  expect(node.recording.violations).toEqual([]);
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

test.for(["close", "reset", "end"] as const)(
  "after a watch is cut in the middle of a line (%s), each pod runs exactly once and is removed",
  async (cutOff) => {
    const created: string[] = [];
    for (let round = 0; round < 3; round++) {
      await eventually(() => expect(proxy.disrupt({ watch: true, path: /\/pods\?/ }, { kind: "cut-line", cutOff })).toBe(1));
      const pod = await pods.create(podOn(node.name, `cut-${String(round)}`, namespace));
      created.push(pod.uid);
      await pods.running(`cut-${String(round)}`);
    }
    proxy.disrupt({ watch: true, path: /\/pods\?/ }, { kind: "cut-line", cutOff });
    await pods.delete("cut-0");
    await pods.gone("cut-0");

    expect(created.map((uid) => node.recording.creates(uid))).toEqual([1, 1, 1]);
    expect(proxy.count({ path: /\/pods\?.*sendInitialEvents/ })).toBe(1);
  },
);

test.for(["status", "event"] as const)(
  "410 as %s: changes in the meantime are noticed, and no pod is created or ended twice",
  async (how) => {
    const kept = await pods.create(podOn(node.name, "kept", namespace));
    const dropped = await pods.create(podOn(node.name, "dropped", namespace));
    await Promise.all([pods.running("kept"), pods.running("dropped")]);
    const away = proxy.inject({ watch: true, path: /\/pods\?/ }, { kind: "status", status: 503 });
    proxy.disrupt({ watch: true, path: /\/pods\?/ }, { kind: "truncate", afterBytes: 0 });
    await eventually(() => expect(away.hits).toBeGreaterThan(0));

    await pods.delete("dropped", 0);
    await pods.gone("dropped");
    const added = await pods.create(podOn(node.name, "added", namespace));
    const gone = proxy.inject(
      { watch: true, path: /\/pods\?.*[?&]resourceVersion=\d/, times: 1 },
      how === "status" ? { kind: "status", status: 410 } : { kind: "error-event", code: 410 },
    );
    away[Symbol.dispose]();

    await pods.running("added");
    await eventually(() => expect(node.recording.deletes(dropped.uid)).toBe(1));
    expect(gone.hits).toBe(1);
    expect([kept, dropped, added].map(({ uid }) => node.recording.creates(uid))).toEqual([1, 1, 1]);
    expect(node.recording.callsOf("deletePod", kept.uid)).toEqual([]);
  },
);

test("429 with Retry-After on status writes: they are repeated later, and the lease does not wait for them", async () => {
  const refused = proxy.inject(
    { method: "PATCH", path: /\/pods\/.*\/status/, times: 3 },
    { kind: "status", status: 429, retryAfterSeconds: 7 },
  );

  const pod = await pods.create(podOn(node.name, "web", namespace));
  await pods.running("web");

  const statusWrites = (): typeof proxy.requests =>
    proxy.requests.filter(({ method, path }) => method === "PATCH" && path.includes("/pods/web/status"));
  expect(refused.hits).toBe(3);
  // The pod may be Running before the proxy has recorded the response to the status write.
  await eventually(() => expect(statusWrites().map(({ status }) => status)).toEqual([429, 429, 429, 200]));
  const writes = statusWrites();
  const waits = writes.slice(1).map(({ atMs }, index) => ({ fromMs: writes[index]?.atMs ?? atMs, toMs: atMs }));
  expect(Math.min(...waits.map(({ fromMs, toMs }) => toMs - fromMs))).toBeGreaterThan(6_900);
  // The lease is due every three seconds, so it was renewed during each wait.
  expect(waits.map(({ fromMs, toMs }) => renewals().some(({ atMs }) => fromMs < atMs && atMs < toMs))).toEqual([true, true, true]);
  expect(node.recording.creates(pod.uid)).toBe(1);
});

test("429 with Retry-After on every request except the lease: the node stays Ready", async () => {
  proxy.inject({ path: /^(?!.*leases)/ }, { kind: "status", status: 429, retryAfterSeconds: 1 });
  proxy.disrupt({ watch: true }, { kind: "truncate", afterBytes: 0 });

  const before = renewals().length;
  await eventually(() => expect(renewals().length).toBeGreaterThan(before + 2), { timeoutMs: 60_000 });
  expect((await readyCondition(client, node.name)).status).toBe("True");
  proxy.clear();

  await pods.create(podOn(node.name, "after", namespace));
  await pods.running("after");
});

test("409 on status writes and on the lease: the objects are read again and written", async () => {
  const onStatus = proxy.inject({ method: "PATCH", path: /\/pods\/.*\/status/, times: 2 }, { kind: "status", status: 409 });
  const onLease = proxy.inject({ method: "PUT", path: /\/leases\//, times: 2 }, { kind: "status", status: 409 });

  const pod = await pods.create(podOn(node.name, "web", namespace));
  await pods.running("web");
  await eventually(() => expect(onLease.hits).toBe(2));
  const writtenBefore = renewals().length;
  await eventually(() => expect(renewals().length).toBeGreaterThan(writtenBefore));

  expect(onStatus.hits).toBe(2);
  expect(node.recording.creates(pod.uid)).toBe(1);
  expect((await readyCondition(client, node.name)).status).toBe("True");
});

test("409 on the final delete: the pod is still deleted", async () => {
  const conflict = proxy.inject({ method: "DELETE", path: /\/pods\//, times: 2 }, { kind: "status", status: 409 });
  const pod = await pods.create(podOn(node.name, "web", namespace));
  await pods.running("web");

  await pods.delete("web");
  await pods.gone("web");

  expect(conflict.hits).toBe(2);
  expect(node.recording.callsOf("deletePod", pod.uid)).toHaveLength(1);
});

test("a response that is lost after the write: nothing is done twice", async () => {
  proxy.inject({ method: "PATCH", path: /\/pods\/.*\/status/, times: 1 }, { kind: "reset", forward: true });
  proxy.inject({ method: "DELETE", path: /\/pods\//, times: 1 }, { kind: "reset", forward: true });

  const pod = await pods.create(podOn(node.name, "web", namespace));
  await pods.running("web");
  await pods.delete("web");
  await pods.gone("web");

  expect([node.recording.creates(pod.uid), node.recording.deletes(pod.uid)]).toEqual([1, 1]);
});

test("occasional 500 and 503: every change is applied in the end", async () => {
  proxy.inject({ method: "PATCH", times: 4 }, { kind: "status", status: 500 });
  proxy.inject({ method: "PUT", times: 2 }, { kind: "status", status: 503 });
  proxy.inject({ method: "DELETE", times: 2 }, { kind: "status", status: 503 });

  const names = Array.from({ length: 5 }, (_, index) => `many-${String(index)}`);
  const created = await Promise.all(names.map((name) => pods.create(podOn(node.name, name, namespace))));
  await Promise.all(names.map((name) => pods.running(name)));
  await Promise.all(names.map((name) => pods.delete(name)));
  await Promise.all(names.map((name) => pods.gone(name)));

  expect(created.map(({ uid }) => [node.recording.creates(uid), node.recording.deletes(uid)])).toEqual(names.map(() => [1, 1]));
});

test("401 after a token's rotation: the node, which has only the printed rights, reads the new token and continues", async () => {
  const name = uniqueName("rotating");
  const { account } = await applyPrintedRights(controlPlane, ["--provider", "mock", "--nodename", name, "--run-as=service-account"]);
  const tokenFile = join(controlPlane.directory, `token-${name}`);
  const rotate = async (): Promise<void> => {
    const { stdout } = await controlPlane.kubectl(["create", "token", account, "-n", "kube-system"]);
    await writeFile(tokenFile, stdout.trim());
  };
  await rotate();
  await using own = await startNode({ name, kubeconfig: proxy.kubeconfigWith({ tokenFile }) });
  const before = await pods.create(podOn(name, "before", namespace));
  await pods.running("before");

  using expired = proxy.inject({}, { kind: "expired-credentials" });
  proxy.disrupt({ watch: true }, { kind: "truncate", afterBytes: 0 });
  await eventually(() => expect(expired.hits).toBeGreaterThan(2), { timeoutMs: 60_000 });
  await rotate();
  const after = await pods.create(podOn(name, "after", namespace));

  await pods.running("after");
  await nodeToBe(client, name, "True");
  expect([before, after].map(({ uid }) => own.recording.creates(uid))).toEqual([1, 1]);
  expect(own.recording.callsOf("deletePod")).toEqual([]);
  const forbidden = controlPlane
    .auditEvents()
    .filter(({ user, responseStatus }) => user.username === `system:serviceaccount:kube-system:${account}` && responseStatus?.code === 403);
  expect(forbidden.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
  await pods.delete("before");
  await pods.gone("before");
  await own.stop();
  await forgetNode(controlPlane, name);
});

test("temporarily unreadable secrets do not make the pod Failed", async () => {
  await client.create(resources.secrets, { metadata: { name: "token", namespace }, stringData: { key: "value" } }, { signal });
  proxy.inject({ path: /\/secrets\//, times: 3 }, { kind: "status", status: 503 });

  await pods.create(
    podOn(node.name, "reader", namespace, {
      containers: [{ name: "main", image: "main:1", env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "token", key: "key" } } }] }],
    }),
  );

  await pods.running("reader");
});

/** Requests that renewed the lease. */
function renewals(): typeof proxy.requests {
  return proxy.requests.filter(({ method, path, status }) => method === "PUT" && path.includes(`/leases/${node.name}`) && status === 200);
}
