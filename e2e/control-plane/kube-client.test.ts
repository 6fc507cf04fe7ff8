import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { isConflict, isForbidden, isInvalidInput, isNotFound, isUnauthorized, isUnavailable } from "@virtual-kubelet/errdefs";
import {
  createEventRecorder,
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  isGone,
  noMetrics,
  resources,
  silentLogger,
  statusOf,
  type ConfigMap,
  type KubeClient,
  type Lease,
  type Pod,
  type WatchEvent,
} from "@virtual-kubelet/kube-client";
import { microTime } from "@virtual-kubelet/kubernetes";
import { eventually, leakCheck, startFaultProxy } from "@virtual-kubelet/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNamespace, openClient, sharedControlPlane, untilAllowed, type OpenClient } from "./support/cluster.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
let client: KubeClient;
let namespace = "";

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  namespace = await createNamespace(client, "kube-client");
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

describe("reading and writing", () => {
  test("an object is created, read, replaced, patched with each patch type and deleted", async () => {
    const created = await client.create(resources.configMaps, configMap("crud", { a: "1" }), { signal });
    const name = { namespace, name: "crud" };

    expect(await client.get(resources.configMaps, name, { signal })).toEqual(created);
    const replaced = await client.replace(resources.configMaps, { ...created, data: { a: "2" } }, { signal });
    expect(replaced.data).toEqual({ a: "2" });
    await expect(client.replace(resources.configMaps, { ...created, data: { a: "3" } }, { signal })).rejects.toSatisfy(isConflict);

    await client.patch(resources.configMaps, name, { type: "merge", body: { data: { b: "1" } } }, { signal });
    await client.patch(resources.configMaps, name, { type: "json", body: [{ op: "remove", path: "/data/a" }] }, { signal });
    const patched = await client.patch(resources.configMaps, name, { type: "strategic", body: { data: { c: "1" } } }, { signal });
    expect(patched.data).toEqual({ b: "1", c: "1" });

    await client.delete(resources.configMaps, name, {}, { signal });
    await expect(client.get(resources.configMaps, name, { signal })).rejects.toSatisfy(isNotFound);
  });

  test("a long list arrives in pages of the same version", async () => {
    await Promise.all(
      Array.from({ length: 7 }, (_, index) => client.create(resources.configMaps, labelled(`page-${String(index)}`, "pages"), { signal })),
    );

    const sizes: number[] = [];
    const names: string[] = [];
    const versions = new Set<string>();
    let token: string | undefined;
    do {
      const page = await client.list(
        resources.configMaps,
        { namespace, labelSelector: "test=pages", limit: 3, continue: token },
        { signal },
      );
      sizes.push(page.items.length);
      names.push(...page.items.map(({ metadata }) => metadata?.name ?? ""));
      versions.add(page.resourceVersion);
      token = page.continue;
    } while (token !== undefined);

    expect(sizes).toEqual([3, 3, 1]);
    expect(names).toEqual(Array.from({ length: 7 }, (_, index) => `page-${String(index)}`));
    expect(versions.size).toBe(1);
  });

  test("times in a Lease need six fractional digits; the server refuses three", async () => {
    const nowMs = Date.now();
    const lease: Lease = {
      metadata: { name: "micro", namespace },
      spec: { holderIdentity: "e2e", leaseDurationSeconds: 40, renewTime: microTime(nowMs) },
    };

    const created = await client.create(resources.leases, lease, { signal, pool: "lease" });

    expect(created.spec?.renewTime).toBe(microTime(nowMs));
    const body = { spec: { renewTime: new Date(nowMs).toISOString() } };
    await expect(client.patch(resources.leases, { namespace, name: "micro" }, { type: "merge", body }, { signal })).rejects.toSatisfy(
      isInvalidInput,
    );
  });

  test("with another pod's UID a status patch is refused as invalid, and a delete as a conflict", async () => {
    const name = { namespace, name: "uids" };
    const pod = await client.create(resources.pods, boundPod("uids"), { signal });
    const patchFor = (uid: string): Promise<Pod> =>
      client.patch(
        resources.pods,
        name,
        { type: "strategic", body: { metadata: { uid }, status: { message: "seen" } } },
        { signal, subresource: "status" },
      );

    const refused = await patchFor("00000000-0000-4000-8000-000000000000").catch((error: unknown) => error);
    expect(statusOf(refused)).toMatchObject({
      code: 422,
      details: { causes: expect.arrayContaining([expect.objectContaining({ field: "metadata.uid" })]) },
    });
    await expect(
      client.delete(
        resources.pods,
        name,
        { gracePeriodSeconds: 0, preconditions: { uid: "00000000-0000-4000-8000-000000000000" } },
        { signal },
      ),
    ).rejects.toSatisfy(isConflict);

    expect((await patchFor(pod.metadata?.uid ?? "")).status?.message).toBe("seen");
    await client.delete(resources.pods, name, { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata?.uid } }, { signal });
    await expect(client.get(resources.pods, name, { signal })).rejects.toSatisfy(isNotFound);
  });

  test("a bound pod that is deleted gracefully stays with its grace period, which a second delete shortens", async () => {
    const name = { namespace, name: "graceful" };
    await client.create(resources.pods, boundPod("graceful"), { signal });

    await client.delete(resources.pods, name, { gracePeriodSeconds: 60 }, { signal });
    const first = await client.get(resources.pods, name, { signal });
    await client.delete(resources.pods, name, { gracePeriodSeconds: 5 }, { signal });
    const second = await client.get(resources.pods, name, { signal });

    expect(first.metadata?.deletionGracePeriodSeconds).toBe(60);
    expect(second.metadata?.deletionGracePeriodSeconds).toBe(5);
    await client.delete(resources.pods, name, { gracePeriodSeconds: 0 }, { signal });
  });

  test("every refusal becomes an error of the right kind with the server's message", async () => {
    const ann = await openClient(controlPlane.kubeconfigFor("ann"));
    const nobody = await openClient(controlPlane.kubeconfigWith({ token: "not-a-token" }));
    await using _stack = closing(ann, nobody);
    await client.create(resources.configMaps, configMap("twice", {}), { signal });

    await expect(client.create(resources.configMaps, configMap("twice", {}), { signal })).rejects.toSatisfy(isConflict);
    const invalid = await client
      .create(resources.pods, { metadata: { name: "Not_A_Name", namespace }, spec: { containers: [] } }, { signal })
      .catch((error: unknown) => error);
    expect(invalid).toSatisfy(isInvalidInput);
    expect(statusOf(invalid)).toMatchObject({
      code: 422,
      reason: "Invalid",
      details: { causes: expect.arrayContaining([expect.objectContaining({ field: "metadata.name" })]) },
    });
    const forbidden = await ann.client.list(resources.secrets, { namespace }, { signal }).catch((error: unknown) => error);
    expect(forbidden).toSatisfy(isForbidden);
    expect(String(forbidden)).toContain('User "ann" cannot list resource "secrets"');
    await expect(nobody.client.list(resources.pods, { namespace }, { signal })).rejects.toSatisfy(isUnauthorized);
  });
});

describe("watching", () => {
  test("a watch from a list's version delivers every change in order", async () => {
    const { resourceVersion } = await client.list(resources.configMaps, { namespace }, { signal });
    const abort = new AbortController();
    const watch = await client.watch(
      resources.configMaps,
      { namespace, resourceVersion, labelSelector: "test=watch" },
      { signal: abort.signal },
    );

    const name = { namespace, name: "watched" };
    await client.create(resources.configMaps, labelled("watched", "watch"), { signal });
    await client.patch(resources.configMaps, name, { type: "merge", body: { data: { a: "1" } } }, { signal });
    await client.delete(resources.configMaps, name, {}, { signal });

    const events = await take(watch, 3);
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
  });

  test("a streamed list ends with a bookmark that marks its end", async () => {
    const watch = await client.watch(
      resources.namespaces,
      { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: "NotOlderThan", resourceVersion: "" },
      { signal },
    );

    let added = 0;
    for await (const event of watch) {
      if (event.type === "ADDED") added++;
      if (event.type !== "BOOKMARK") continue;
      expect(event.object.metadata?.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
      break;
    }
    expect(added).toBeGreaterThanOrEqual(4);
  });

  test("an expired token for the next page is Gone", async () => {
    await using proxy = await startFaultProxy({ target: controlPlane.target });
    await using through = await openClient(proxy.kubeconfig);
    proxy.inject({ path: /continue=/ }, { kind: "status", status: 410 });

    const error = await through.client
      .list(resources.configMaps, { namespace, limit: 1, continue: "old" }, { signal })
      .catch((caught: unknown) => caught);

    expect(isGone(error)).toBe(true);
  });

  test("the server ends a watch at its time-out, and leaving a watch frees its connection", async () => {
    await using _ = leakCheck();
    await using own = await openClient(controlPlane.kubeconfig);

    const short = await own.client.watch(
      resources.configMaps,
      { namespace, timeoutSeconds: 1, resourceVersion: "0", labelSelector: "test=none" },
      { signal },
    );
    expect(await take(short, 1)).toEqual([]);
    const left = await own.client.watch(resources.namespaces, { resourceVersion: "0" }, { signal });
    expect(await take(left, 1)).toHaveLength(1);
  });

  test("a hundred open watches do not delay requests", async () => {
    await using own = await openClient(controlPlane.kubeconfig);
    const abort = new AbortController();
    const watches = await Promise.all(
      Array.from({ length: 100 }, () =>
        own.client.watch(resources.configMaps, { namespace, labelSelector: "test=none" }, { signal: abort.signal }),
      ),
    );
    const reading = watches.map((watch) => take(watch, 1).catch(() => []));

    for (let index = 0; index < 20; index++) await own.client.get(resources.namespaces, { name: namespace }, { signal });
    abort.abort(new Error("seen enough"));

    await Promise.all(reading);
  });
});

describe("through faults", () => {
  test("five hundred requests use no more connections than the pool has", async () => {
    // Both ends are in this process. Without TLS no connection is delayed by the handshakes of the others.
    await using proxy = await startFaultProxy({ target: controlPlane.target, tls: false });
    await using own = await openClient(proxy.kubeconfig);

    await Promise.all(Array.from({ length: 500 }, () => own.client.get(resources.namespaces, { name: namespace }, { signal })));

    expect(proxy.count({ method: "GET" })).toBe(500);
    expect(proxy.connections).toBeLessThanOrEqual(32);
  });

  test("a 429 error has the time to wait, a reset does not", async () => {
    await using proxy = await startFaultProxy({ target: controlPlane.target });
    await using own = await openClient(proxy.kubeconfig);
    proxy.inject({ times: 1 }, { kind: "status", status: 429, retryAfterSeconds: 7 });
    proxy.inject({ method: "POST", times: 1 }, { kind: "reset", forward: true });

    await expect(own.client.get(resources.namespaces, { name: namespace }, { signal })).rejects.toMatchObject({
      code: "VK_UNAVAILABLE",
      retryAfterMs: 7000,
    });
    await expect(own.client.create(resources.configMaps, configMap("unclear", {}), { signal })).rejects.toMatchObject({
      code: "VK_UNAVAILABLE",
      retryAfterMs: undefined,
    });
    // The outcome was unclear to the client; the write took effect.
    expect((await client.get(resources.configMaps, { namespace, name: "unclear" }, { signal })).metadata?.name).toBe("unclear");
  });

  test("on 401 a rotated token file is read again, once", async () => {
    await using proxy = await startFaultProxy({ target: controlPlane.target });
    const tokenFile = join(controlPlane.directory, "rotated-token");
    const tokenOf = async (): Promise<string> =>
      (await controlPlane.kubectl(["create", "token", "default", "-n", namespace])).stdout.trim();
    await controlPlane.kubectl([
      "create",
      "rolebinding",
      "view",
      "--clusterrole=view",
      `--serviceaccount=${namespace}:default`,
      "-n",
      namespace,
    ]);
    await untilAllowed(controlPlane, `system:serviceaccount:${namespace}:default`, ["list", "configmaps", "-n", namespace]);
    await writeFile(tokenFile, await tokenOf());
    await using own = await openClient(proxy.kubeconfigWith({ tokenFile }));
    const list = (): Promise<unknown> => own.client.list(resources.configMaps, { namespace }, { signal });
    await list();
    using _rule = proxy.inject({}, { kind: "expired-credentials" });

    await expect(list()).rejects.toSatisfy(isUnauthorized);
    // The proxy records a status after the client may have it.
    await eventually(() => expect(proxy.requests.map(({ status }) => status)).toEqual([200, 401, 401]));
    await writeFile(tokenFile, await tokenOf());
    await list();

    await eventually(() => expect(proxy.requests.slice(3).map(({ status }) => status)).toEqual([401, 200]));
  });

  test("a half-open connection delays no other request, and its call ends when it is aborted", async () => {
    await using proxy = await startFaultProxy({ target: controlPlane.target });
    await using own = await openClient(proxy.kubeconfig);
    proxy.inject({ path: /configmaps/ }, { kind: "drop" });
    const abort = new AbortController();

    const hanging = own.client.list(resources.configMaps, { namespace }, { signal: abort.signal });
    await own.client.get(resources.namespaces, { name: namespace }, { signal });
    abort.abort(new Error("long enough"));

    await expect(hanging).rejects.toThrow("long enough");
  });

  test("a watch that is cut in the middle of a line delivers the complete lines and then an error", async () => {
    await using proxy = await startFaultProxy({ target: controlPlane.target });
    await using own = await openClient(proxy.kubeconfig);
    proxy.inject({ watch: true }, { kind: "cut-line", afterLines: 2 });

    const watch = await own.client.watch(resources.namespaces, { resourceVersion: "0" }, { signal });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of watch) seen.push(event.type);
    })();

    await expect(reading).rejects.toSatisfy(isUnavailable);
    expect(seen).toEqual(["ADDED", "ADDED"]);
  });
});

test("kubectl shows recorded events", async () => {
  const pod = await client.create(resources.pods, boundPod("eventful"), { signal });
  const recorder = createEventRecorder({
    client,
    component: "e2e",
    host: "node-1",
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    metrics: noMetrics,
  });
  const abort = new AbortController();
  const running = recorder.run(abort.signal);
  const reference = { apiVersion: "v1", kind: "Pod", namespace, name: "eventful", uid: pod.metadata?.uid };

  recorder.event(reference, "Warning", "ProviderUnsupported", "spec.hostNetwork is not supported");
  recorder.event(reference, "Warning", "ProviderUnsupported", "spec.hostNetwork is not supported");

  await eventually(async () => {
    const { stdout } = await controlPlane.kubectl(["get", "events", "-n", namespace, "-o", "json"]);
    const { items } = JSON.parse(stdout) as { items: { reason: string; count: number }[] };
    expect(items.filter(({ reason }) => reason === "ProviderUnsupported")).toMatchObject([
      { count: 2, message: "spec.hostNetwork is not supported" },
    ]);
  });
  abort.abort();
  await running;
  expect((await controlPlane.kubectl(["describe", "pod", "eventful", "-n", namespace])).stdout).toContain("ProviderUnsupported");
});

test("a client certificate determines the user", async () => {
  const credentials = await loadCredentials({ kubeconfig: controlPlane.kubeconfigFor("bob", ["dev"]).path, env: {}, clock: systemClock });
  await using transport = createHttpTransport({ credentials });
  const bob = createKubeClient(transport);

  const review = await bob.raw(
    "POST",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    { signal },
  );

  expect(review).toMatchObject({ status: { userInfo: { username: "bob", groups: ["dev", "system:authenticated"] } } });
});

function configMap(name: string, data: Record<string, string>): ConfigMap {
  return { metadata: { name, namespace }, data };
}

function labelled(name: string, label: string): ConfigMap {
  return { metadata: { name, namespace, labels: { test: label } }, data: {} };
}

/** A pod bound to a node that does not exist. */
function boundPod(name: string): Pod {
  return { metadata: { name, namespace }, spec: { nodeName: "nobody", containers: [{ name: "main", image: "main:1" }] } };
}

async function take<T>(watch: AsyncIterable<WatchEvent<T>>, count: number): Promise<WatchEvent<T>[]> {
  const events: WatchEvent<T>[] = [];
  for await (const event of watch) {
    events.push(event);
    if (events.length === count) break;
  }
  return events;
}

function closing(...clients: readonly OpenClient[]): AsyncDisposable {
  return { [Symbol.asyncDispose]: async () => void (await Promise.all(clients.map((each) => each[Symbol.asyncDispose]()))) };
}
