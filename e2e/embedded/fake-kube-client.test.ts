import { VirtualClock } from "@virtual-kubelet/clock";
import { isConflict, isInvalidInput, isNotFound } from "@virtual-kubelet/errdefs";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, statusOf, type KubeClient, type Node, type Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { FakeKubeClient } from "../../packages/core/src/test-support/fake-kube-client.ts";

/** An API that holds the namespace `default` and its service account. */
interface Api extends AsyncDisposable {
  readonly client: KubeClient;
  readonly clock: VirtualClock;
}

const { signal } = new AbortController();
const options = { signal };

async function fake(): Promise<Api> {
  const clock = new VirtualClock();
  return { client: new FakeKubeClient(clock), clock, [Symbol.asyncDispose]: async () => {} };
}

async function embedded(): Promise<Api> {
  const clock = new VirtualClock();
  const server = await startApiServer({ clock, listen: false, controllers: false, serviceAccounts: true });
  return { client: createKubeClient(server.transport(), { clock }), clock, [Symbol.asyncDispose]: () => server.close() };
}

function pod(name: string, change: Partial<Pod> = {}): Pod {
  return {
    metadata: { namespace: "default", name },
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "busybox" }], terminationGracePeriodSeconds: 30 },
    ...change,
  };
}

const web = { namespace: "default", name: "web" };

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "succeeded",
    (error: unknown) => error,
  );
}

// Unit tests of core rely on the fake, so it has to answer as the API server does.
describe.each([
  ["the fake client of core's tests", fake],
  ["the embedded API server", embedded],
])("on %s", (_name, open) => {
  test("a missing object is a NotFoundError that names the object", async () => {
    await using api = await open();

    const errors = [
      await failure(api.client.get(resources.pods, web, options)),
      await failure(api.client.delete(resources.pods, web, {}, options)),
      await failure(api.client.patch(resources.pods, web, { type: "merge", body: {} }, options)),
    ];

    for (const error of errors) {
      expect(isNotFound(error)).toBe(true);
      expect(statusOf(error)).toMatchObject({ code: 404, reason: "NotFound", details: { name: "web", kind: "pods" } });
    }
  });

  test("a second object of the same name is a ConflictError", async () => {
    await using api = await open();
    await api.client.create(resources.pods, pod("web"), options);

    expect(isConflict(await failure(api.client.create(resources.pods, pod("web"), options)))).toBe(true);
  });

  test("a created object has a UID, a creation time and a resourceVersion of the server", async () => {
    await using api = await open();

    const { metadata } = await api.client.create(resources.pods, pod("web"), options);

    expect(metadata).toMatchObject({ creationTimestamp: "2026-01-01T00:00:00Z", uid: expect.stringMatching(/^[\da-f-]{36}$/) });
    expect(Number(metadata?.resourceVersion)).toBeGreaterThan(0);
  });

  test("a patch with another UID is invalid, and one with an older resourceVersion is a conflict", async () => {
    await using api = await open();
    const created = await api.client.create(resources.pods, pod("web"), options);
    const patch = (metadata: object): Promise<unknown> =>
      failure(
        api.client.patch(resources.pods, web, { type: "strategic", body: { metadata: { ...metadata, labels: { a: "b" } } } }, options),
      );

    const otherUid = await patch({ uid: "00000000-0000-0000-0000-000000000000" });
    await api.client.patch(resources.pods, web, { type: "merge", body: { metadata: { labels: { c: "d" } } } }, options);
    const outdated = await patch({ resourceVersion: created.metadata?.resourceVersion });

    expect([isInvalidInput(otherUid), statusOf(otherUid)?.code, statusOf(otherUid)?.details?.causes?.[0]?.field]).toEqual([
      true,
      422,
      "metadata.uid",
    ]);
    expect([isConflict(outdated), statusOf(outdated)?.reason]).toEqual([true, "Conflict"]);
  });

  test("a replacement with an older resourceVersion is a conflict", async () => {
    await using api = await open();
    const created = await api.client.create(resources.nodes, { metadata: { name: "node-1" } } satisfies Node, options);
    await api.client.replace(resources.nodes, { ...created, metadata: { ...created.metadata, labels: { a: "b" } } }, options);

    const outdated = await failure(
      api.client.replace(resources.nodes, { ...created, metadata: { ...created.metadata, labels: { c: "d" } } }, options),
    );

    expect(isConflict(outdated)).toBe(true);
  });

  test("a patch of the status changes only the status, and any other patch changes everything else", async () => {
    await using api = await open();
    await api.client.create(resources.nodes, { metadata: { name: "node-1" } } satisfies Node, options);
    const body = { spec: { unschedulable: true }, status: { phase: "Running" } };

    const first = await api.client.patch(
      resources.nodes,
      { name: "node-1" },
      { type: "strategic", body },
      { signal, subresource: "status" },
    );
    const second = await api.client.patch(
      resources.nodes,
      { name: "node-1" },
      { type: "strategic", body: { ...body, status: { phase: "Pending" } } },
      options,
    );

    expect([first.spec?.unschedulable, first.status?.phase]).toEqual([undefined, "Running"]);
    expect([second.spec?.unschedulable, second.status?.phase]).toEqual([true, "Running"]);
  });

  test("a patch that changes nothing keeps the resourceVersion", async () => {
    await using api = await open();
    const created = await api.client.create(resources.pods, pod("web", { metadata: { ...web, labels: { a: "b" } } }), options);

    const patched = await api.client.patch(resources.pods, web, { type: "merge", body: { metadata: { labels: { a: "b" } } } }, options);

    expect(patched.metadata?.resourceVersion).toBe(created.metadata?.resourceVersion);
  });

  test("a deletion with another UID is a conflict", async () => {
    await using api = await open();
    await api.client.create(resources.pods, pod("web"), options);

    const refused = await failure(api.client.delete(resources.pods, web, { preconditions: { uid: "other" } }, options));

    expect(isConflict(refused)).toBe(true);
  });

  test("a bound pod is marked as deleted for its grace period, and is gone after a deletion without grace", async () => {
    await using api = await open();
    await api.client.create(resources.pods, pod("web"), options);

    await api.client.delete(resources.pods, web, { gracePeriodSeconds: 10 }, options);
    const { metadata } = await api.client.get(resources.pods, web, options);
    await api.client.delete(resources.pods, web, { gracePeriodSeconds: 20 }, options);
    const again = await api.client.get(resources.pods, web, options);
    await api.client.delete(resources.pods, web, { gracePeriodSeconds: 0 }, options);

    expect(metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:10Z", deletionGracePeriodSeconds: 10 });
    expect(again.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:10Z", deletionGracePeriodSeconds: 10 });
    expect(isNotFound(await failure(api.client.get(resources.pods, web, options)))).toBe(true);
  });

  test("a pod's own grace period applies unless the deletion has one, and a later deletion shortens it from its start", async () => {
    await using api = await open();
    const { spec } = pod("web");
    await api.client.create(resources.pods, pod("web", { spec: { containers: [], ...spec, terminationGracePeriodSeconds: 60 } }), options);

    await api.client.delete(resources.pods, web, {}, options);
    const first = await api.client.get(resources.pods, web, options);
    await api.clock.advance(10_000);
    await api.client.delete(resources.pods, web, { gracePeriodSeconds: 20 }, options);
    const second = await api.client.get(resources.pods, web, options);

    expect(first.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:01:00Z", deletionGracePeriodSeconds: 60 });
    expect(second.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:20Z", deletionGracePeriodSeconds: 20 });
  });

  test("a pod that has ended, or was never bound, is gone at once", async () => {
    await using api = await open();
    const other = { namespace: "default", name: "other" };
    await api.client.create(resources.pods, pod("web"), options);
    await api.client.create(resources.pods, { metadata: other, spec: { containers: [{ name: "main", image: "busybox" }] } }, options);
    const status = { type: "merge", body: { status: { phase: "Succeeded" } } } as const;
    await api.client.patch(resources.pods, web, status, { signal, subresource: "status" });

    await api.client.delete(resources.pods, web, { gracePeriodSeconds: 30 }, options);
    await api.client.delete(resources.pods, other, {}, options);

    expect((await api.client.list(resources.pods, {}, options)).items).toEqual([]);
  });

  test("a deleted pod with a finalizer is gone as soon as the finalizer is", async () => {
    await using api = await open();
    await api.client.create(resources.pods, pod("web", { metadata: { ...web, finalizers: ["example.com/keep"] } }), options);

    await api.client.delete(resources.pods, web, { gracePeriodSeconds: 0 }, options);
    const kept = await api.client.get(resources.pods, web, options);
    await api.client.patch(resources.pods, web, { type: "merge", body: { metadata: { finalizers: null } } }, options);

    expect(kept.metadata?.deletionTimestamp).toBeDefined();
    expect(isNotFound(await failure(api.client.get(resources.pods, web, options)))).toBe(true);
  });

  test("a list is selected by node and by label", async () => {
    await using api = await open();
    await api.client.create(resources.pods, pod("web", { metadata: { ...web, labels: { app: "web" } } }), options);
    await api.client.create(resources.pods, pod("db", { metadata: { namespace: "default", name: "db", labels: { app: "db" } } }), options);
    const names = async (query: object): Promise<unknown> =>
      (await api.client.list(resources.pods, query, options)).items.map(({ metadata }) => metadata?.name).toSorted();

    expect(await names({ fieldSelector: "spec.nodeName=node-1" })).toEqual(["db", "web"]);
    expect(await names({ fieldSelector: "spec.nodeName=node-2" })).toEqual([]);
    expect(await names({ labelSelector: "app=web" })).toEqual(["web"]);
    expect(await names({ labelSelector: "app!=web" })).toEqual(["db"]);
    expect(await names({ namespace: "kube-system" })).toEqual([]);
  });

  test.each([
    [true, [["BOOKMARK", { "k8s.io/initial-events-end": "true" }]]],
    [false, []],
  ])("a watch with bookmarks (%s) starts with the objects, and goes on with changes", async (allowWatchBookmarks, bookmarks) => {
    await using api = await open();
    const stop = new AbortController();
    await api.client.create(resources.pods, pod("web"), options);
    const query = { fieldSelector: "metadata.name=web", sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } as const;
    const watch = await api.client.watch(resources.pods, { ...query, allowWatchBookmarks }, { signal: stop.signal });
    const events = watch[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => {
      const { value } = await events.next();
      return [value.type, value.object.metadata.name ?? value.object.metadata.annotations];
    };

    const first = [await next()];
    for (const _ of bookmarks) first.push(await next());
    await api.client.create(resources.pods, pod("other"), options);
    await api.client.patch(resources.pods, web, { type: "merge", body: { metadata: { labels: { a: "b" } } } }, options);
    const later = await next();
    stop.abort();

    expect(first).toEqual([["ADDED", "web"], ...bookmarks]);
    expect(later).toEqual(["MODIFIED", "web"]);
  });

  test("a watch that resumes sees the changes after its resourceVersion", async () => {
    await using api = await open();
    const stop = new AbortController();
    const { metadata } = await api.client.create(resources.pods, pod("web"), options);
    await api.client.create(resources.pods, pod("db"), options);

    const events = await api.client.watch(resources.pods, { resourceVersion: metadata?.resourceVersion ?? "" }, { signal: stop.signal });
    const { value } = await events[Symbol.asyncIterator]().next();
    stop.abort();

    expect([value.type, value.object.metadata.name]).toEqual(["ADDED", "db"]);
  });
});
