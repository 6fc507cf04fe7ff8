import { systemClock, systemRandom, type Clock } from "@virtual-kubelet/clock";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Reflector, resources, silentLogger, type ConfigMap, type KubeClient } from "@virtual-kubelet/kube-client";
import { eventually, leakCheck, startControlPlane, startFaultProxy, VirtualClock, type KubeconfigFile } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createNamespace, openClient, sharedControlPlane, untilAllowed, type OpenClient } from "./support/cluster.ts";
import { CountingMetrics } from "./support/counting-metrics.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let direct: OpenClient;
let client: KubeClient;
let namespace = "";

beforeAll(async () => {
  direct = await openClient(controlPlane.kubeconfig);
  ({ client } = direct);
});

beforeEach(async () => {
  namespace = await createNamespace(client, "reflector");
});

afterAll(async () => {
  await direct[Symbol.asyncDispose]();
});

test("the store has the server's objects and follows their changes", async () => {
  await using _ = leakCheck();
  await write("before", "1");
  await using reflector = await follow(controlPlane.kubeconfig);
  expect(reflector.data()).toEqual({ before: "1" });

  await write("after", "1");
  await write("before", "2");
  await remove("after");
  await write("after", "again");

  await eventually(() => expect(reflector.data()).toEqual({ before: "2", after: "again" }));
  expect(reflector.changes).toEqual(["added before", "added after", "updated before", "deleted after", "added after"]);
  expect(reflector.metrics.total("vk_reflector_lists_total")).toBe(1);
});

test("a watch that is cut in the middle of a line is resumed from the last version, without a list", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  await using reflector = await follow(proxy.kubeconfig);

  for (const cutOff of ["close", "reset", "end"] as const) {
    await eventually(() => expect(proxy.disrupt({ watch: true }, { kind: "cut-line", cutOff })).toBe(1));
    await write("cut", cutOff);
    await eventually(() => expect(reflector.data()).toEqual({ cut: cutOff }));
  }

  expect(reflector.metrics.total("vk_reflector_lists_total")).toBe(1);
  expect(proxy.count({ path: /sendInitialEvents/ })).toBe(1);
  expect(proxy.count({ watch: false, path: /configmaps/ })).toBe(0);
});

test("410 as a status: the objects are listed again, and deletions in the meantime are noticed", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  await write("gone", "1");
  await write("stays", "1");
  await using reflector = await follow(proxy.kubeconfig);
  using away = proxy.inject({ watch: true }, { kind: "status", status: 503 });
  proxy.disrupt({ watch: true }, { kind: "truncate", afterBytes: 0 });
  await eventually(() => expect(away.hits).toBeGreaterThan(0));

  await remove("gone");
  await write("new", "1");
  const gone = proxy.inject({ watch: true, path: /[?&]resourceVersion=\d/, times: 1 }, { kind: "status", status: 410 });
  away[Symbol.dispose]();

  await eventually(() => expect(reflector.data()).toEqual({ stays: "1", new: "1" }));
  expect(gone.hits).toBe(1);
  expect(reflector.changes.slice(2)).toEqual(expect.arrayContaining(["deleted gone", "added new"]));
  expect(reflector.metrics.total("vk_reflector_relist_missed_events_total")).toBe(2);
});

test("410 as an event in a watch that stays open: the watch is closed at once", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  await using reflector = await follow(proxy.kubeconfig);

  expect(proxy.disrupt({ watch: true }, { kind: "error-event", code: 410 })).toBe(1);
  await write("after", "1");

  await eventually(() => expect(reflector.data()).toEqual({ after: "1" }));
  expect(reflector.metrics.total("vk_reflector_lists_total")).toBe(2);
  await eventually(() => expect(proxy.open({ watch: true })).toBe(1));
});

test("an ERROR event with another code does not cause a new list", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  await using reflector = await follow(proxy.kubeconfig);

  proxy.disrupt({ watch: true }, { kind: "error-event", code: 500 });
  await write("after", "1");

  await eventually(() => expect(reflector.data()).toEqual({ after: "1" }));
  expect(reflector.metrics.total("vk_reflector_lists_total")).toBe(1);
});

test("after 429 with Retry-After the reflector waits, and the watch continues from its version", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  await using reflector = await follow(proxy.kubeconfig);
  proxy.inject({ watch: true, times: 1 }, { kind: "status", status: 429, retryAfterSeconds: 2 });

  proxy.disrupt({ watch: true }, { kind: "truncate", afterBytes: 0 });
  await write("after", "1");
  await eventually(() => expect(reflector.data()).toEqual({ after: "1" }));

  const [, refused, next] = proxy.requests;
  expect(refused).toMatchObject({ watch: true, status: 429 });
  expect((next?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThan(1_900);
  expect(reflector.metrics.total("vk_reflector_lists_total")).toBe(1);
});

test("a failed first list is repeated until it succeeds", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  proxy.inject({ times: 1 }, { kind: "status", status: 500 });
  proxy.inject({ times: 1 }, { kind: "reset" });
  await write("there", "1");

  await using reflector = await follow(proxy.kubeconfig);

  expect(reflector.data()).toEqual({ there: "1" });
});

test("the list is read in pages if the server cannot stream it", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  proxy.inject({ path: /sendInitialEvents=true/ }, { kind: "status", status: 422 });
  await write("there", "1");

  await using reflector = await follow(proxy.kubeconfig);
  await write("after", "1");

  await eventually(() => expect(reflector.data()).toEqual({ there: "1", after: "1" }));
  expect(reflector.metrics.total("vk_reflector_lists_total", { list: "paged" })).toBe(1);
});

test("an unreadable line ends only its watch", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  await using reflector = await follow(proxy.kubeconfig);

  proxy.disrupt({ watch: true }, { kind: "garbage" });
  await write("after", "1");

  await eventually(() => expect(reflector.data()).toEqual({ after: "1" }));
  expect(reflector.metrics.total("vk_reflector_decode_errors_total")).toBe(1);
});

test("watching continues after the rotation of a token file", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  const tokenFile = join(controlPlane.directory, `token-${namespace}`);
  const rotate = async (): Promise<void> =>
    writeFile(tokenFile, (await controlPlane.kubectl(["create", "token", "default", "-n", namespace])).stdout.trim());
  await controlPlane.kubectl([
    "create",
    "rolebinding",
    "view",
    "--clusterrole=view",
    `--serviceaccount=${namespace}:default`,
    "-n",
    namespace,
  ]);
  await untilAllowed(controlPlane, `system:serviceaccount:${namespace}:default`, ["watch", "configmaps", "-n", namespace]);
  await rotate();
  await using reflector = await follow(proxy.kubeconfigWith({ tokenFile }));

  using expired = proxy.inject({}, { kind: "expired-credentials" });
  proxy.disrupt({ watch: true }, { kind: "truncate", afterBytes: 0 });
  await eventually(() => expect(expired.hits).toBeGreaterThan(0));
  await rotate();
  await write("after", "1");

  await eventually(() => expect(reflector.data()).toEqual({ after: "1" }), { timeoutMs: 60_000 });
  expect(reflector.metrics.total("vk_reflector_lists_total")).toBe(1);
});

test("a half-open watch is abandoned after its time-out", async () => {
  await using proxy = await startFaultProxy({ target: controlPlane.target });
  const clock = new VirtualClock();
  await using reflector = await follow(proxy.kubeconfig, { clock });
  proxy.disrupt({ watch: true }, { kind: "silence" });
  await write("after", "1");

  await clock.advance(299_000);
  expect(reflector.data()).toEqual({});

  // Twice the shortest time-out plus the time to end a watch; the connection is closed and reopened in real time.
  await clock.advance(381_000);
  await eventually(() => expect(proxy.open({ watch: true }) === 0 || proxy.count({ watch: true }) > 1).toBe(true));
  await eventually(async () => {
    // Advances until the watch is opened again.
    if (proxy.open({ watch: true }) === 0) await clock.advance(1_000);
    expect(reflector.data()).toEqual({ after: "1" });
  });
});

test("after a kill and restart of the API server the watch is resumed; a forgotten version causes a list", async () => {
  await using own = await startControlPlane({ components: [] });
  await using admin = await openClient(own.kubeconfig);
  const put = (name: string): Promise<ConfigMap> =>
    admin.client.create(resources.configMaps, { metadata: { name, namespace: "default" }, data: { value: "1" } }, { signal });
  await put("before");
  await using reflector = await follow(own.kubeconfig, { namespace: "default" });

  await own.killApiServer();
  await own.startApiServer();
  await eventually(() => put("while-away"), { describe: "the client to reach the restarted server" });
  await eventually(() => expect(reflector.data()).toMatchObject({ before: "1", "while-away": "1" }), { timeoutMs: 60_000 });

  // A restarted server does not know earlier versions and sends an ERROR event.
  const watch = await admin.client.watch(resources.configMaps, { resourceVersion: "1" }, { signal });
  const { value: event } = await watch[Symbol.asyncIterator]().next();
  expect(event).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } });
});

interface Following extends AsyncDisposable {
  readonly metrics: CountingMetrics;
  readonly changes: string[];
  /** `data.value` by name. */
  data(): Record<string, string | undefined>;
}

/** Runs a reflector of the test's config maps until it is disposed; returns when it holds the first list. */
async function follow(
  kubeconfig: KubeconfigFile,
  options: { readonly clock?: Clock; readonly namespace?: string } = {},
): Promise<Following> {
  const opened = await openClient(kubeconfig);
  const metrics = new CountingMetrics();
  const changes: string[] = [];
  const reflector = new Reflector({
    client: opened.client,
    resource: resources.configMaps,
    // Every namespace contains kube-root-ca.crt.
    query: { namespace: options.namespace ?? namespace, fieldSelector: "metadata.name!=kube-root-ca.crt" },
    clock: options.clock ?? systemClock,
    random: systemRandom,
    logger: silentLogger,
    metrics,
  });
  reflector.store.subscribe((change) => changes.push(`${change.type} ${change.object.metadata?.name ?? ""}`));
  const abort = new AbortController();
  const running = reflector.run(abort.signal);
  await reflector.synced;
  return {
    metrics,
    changes,
    data: () => Object.fromEntries([...reflector.store.list()].map(({ metadata, data }) => [metadata?.name, data?.["value"]])),
    async [Symbol.asyncDispose]() {
      abort.abort(new Error("the test is over"));
      await running;
      await opened[Symbol.asyncDispose]();
    },
  };
}

async function write(name: string, value: string): Promise<void> {
  const object: ConfigMap = { metadata: { name, namespace }, data: { value } };
  try {
    await client.create(resources.configMaps, object, { signal });
  } catch {
    await client.patch(resources.configMaps, { namespace, name }, { type: "merge", body: { data: { value } } }, { signal });
  }
}

async function remove(name: string): Promise<void> {
  await client.delete(resources.configMaps, { namespace, name }, {}, { signal });
}
