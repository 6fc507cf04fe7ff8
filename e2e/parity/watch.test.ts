import { eventually } from "@virtual-kubelet/testing";
import { expect, onTestFinished } from "vitest";
import type { Api, Watch, WatchEvent } from "./support/api.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { embeddedWatchHistory, perServer, test } from "./support/parity-test.ts";
import { waitForCache } from "./support/watch-cache.ts";

const secret = (name: string, labels: Record<string, string> = {}): object => ({ metadata: { name, labels } });

/** Such as `ADDED a`. */
function inShort({ type, object }: WatchEvent): string {
  return `${type} ${object.metadata?.name ?? ""}`.trim();
}

async function take(watch: Watch, count: number): Promise<string[]> {
  return (await watch.take(count)).map(inShort);
}

async function versionOf(api: Api, path: string): Promise<string> {
  return (await api.get(path)).body.metadata.resourceVersion;
}

test("a watch from a list's version delivers every later change with the complete object", async ({ api, core }) => {
  using watch = await api.watch(`${core}/secrets?resourceVersion=${await versionOf(api, `${core}/secrets`)}`);
  const created = await api.create(`${core}/secrets`, secret("a"));
  const patched = (await api.patch("merge", `${core}/secrets/a`, { metadata: { labels: { a: "b" } } })).body;
  await api.delete(`${core}/secrets/a`);

  const [added, modified, deleted] = await watch.take(3);
  expect(added).toMatchObject({ type: "ADDED", object: created });
  expect(modified).toMatchObject({ type: "MODIFIED", object: patched });
  expect(deleted).toMatchInlineSnapshot(`
    DELETED {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        creationTimestamp: "TIME",
        labels: {a: "b"},
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      type: "Opaque",
    }
  `);
});

test("the object of a DELETED event has the version of its deletion", async ({ api, core }) => {
  using watch = await api.watch(`${core}/secrets?resourceVersion=${await versionOf(api, `${core}/secrets`)}`);
  const created = await api.create(`${core}/secrets`, secret("a"));
  await api.delete(`${core}/secrets/a`);
  const later = await api.create(`${core}/secrets`, secret("b"));

  const [, deleted] = await watch.take(3);
  const version = Number(deleted?.object.metadata.resourceVersion);
  expect(version).toBeGreaterThan(Number(created.metadata.resourceVersion));
  expect(version).toBeLessThan(Number(later.metadata.resourceVersion));
});

test("a watch without a version or from version 0 begins with the existing objects", async ({ api, core }) => {
  for (const name of "ba") await api.create(`${core}/secrets`, secret(name));
  for (const query of ["", "?resourceVersion=0"]) {
    await waitForCache(api, `${core}/secrets`);
    using watch = await api.watch(`${core}/secrets${query}`);

    expect((await take(watch, 2)).toSorted(), query).toEqual(["ADDED a", "ADDED b"]);
    await api.patch("merge", `${core}/secrets/a`, { metadata: { labels: { [`x${String(query.length)}`]: "y" } } });
    expect(await take(watch, 1), query).toEqual(["MODIFIED a"]);
  }
});

test("a watch from a version begins with later changes", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/secrets`, secret("a"));
  await api.create(`${core}/secrets`, secret("b"));
  await api.delete(`${core}/secrets/a`);
  using watch = await api.watch(`${core}/secrets?resourceVersion=${metadata.resourceVersion}`);

  expect(await take(watch, 2)).toEqual(["ADDED b", "DELETED a"]);
});

test("a watch of all namespaces includes this one", async ({ api, core, namespace }) => {
  using watch = await api.watch(
    `/api/v1/secrets?resourceVersion=${await versionOf(api, `${core}/secrets`)}&fieldSelector=metadata.namespace=${namespace}`,
  );
  await api.create(`${core}/secrets`, secret("a"));

  expect(await take(watch, 1)).toEqual(["ADDED a"]);
});

test("a watch of one object by name includes no others", async ({ api, core }) => {
  using watch = await api.watch(`${core}/secrets?resourceVersion=${await versionOf(api, `${core}/secrets`)}&fieldSelector=metadata.name=b`);
  for (const name of "ab") await api.create(`${core}/secrets`, secret(name));

  expect(await take(watch, 1)).toEqual(["ADDED b"]);
});

test("an object that starts to match the selector is ADDED, and one that stops to match is DELETED, with its new state and version", async ({
  api,
  core,
}) => {
  await api.create(`${core}/secrets`, secret("a"));
  using watch = await api.watch(`${core}/secrets?resourceVersion=${await versionOf(api, `${core}/secrets`)}&labelSelector=on`);
  const on = (await api.patch("merge", `${core}/secrets/a`, { metadata: { labels: { on: "1" } } })).body;
  await api.patch("merge", `${core}/secrets/a`, { metadata: { labels: { on: "2" } } });
  const off = (await api.patch("merge", `${core}/secrets/a`, { metadata: { labels: { on: null } } })).body;
  await api.patch("merge", `${core}/secrets/a`, { metadata: { labels: { other: "1" } } });
  await api.patch("merge", `${core}/secrets/a`, { metadata: { labels: { on: "3" } } });

  const events = await watch.take(4);
  expect(events.map(inShort)).toEqual(["ADDED a", "MODIFIED a", "DELETED a", "ADDED a"]);
  expect(events[0]?.object).toEqual(on);
  expect(events[2]?.object.metadata.resourceVersion).toBe(off.metadata.resourceVersion);
  expect(events[2]?.object.metadata.labels).toEqual({ on: "2" });
});

test("a pod that is bound to a node is ADDED in a watch of the node's pods", async ({ api, core }) => {
  using watch = await api.watch(`${core}/pods?fieldSelector=spec.nodeName=n1`);
  await api.create(`${core}/pods`, podNamed("web"));
  await api.create(`${core}/pods/web/binding`, { metadata: { name: "web" }, target: { kind: "Node", name: "n1" } });
  await api.delete(`${core}/pods/web`, { gracePeriodSeconds: 0 });

  const events = await take(watch, 2);
  expect([events[0], events.at(-1)]).toEqual(["ADDED web", expect.stringMatching(/^(MODIFIED|DELETED) web$/)]);
});

test("sendInitialEvents sends the existing objects and then a bookmark that marks their end", async ({ api, core }) => {
  for (const name of "ab") await api.create(`${core}/secrets`, secret(name));
  using watch = await api.watch(`${core}/secrets?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`);

  const events = await watch.take(3);
  expect(events.slice(0, 2).map(inShort).toSorted()).toEqual(["ADDED a", "ADDED b"]);
  expect(events[2]).toMatchInlineSnapshot(
    `BOOKMARK {apiVersion: "v1", kind: "Secret", metadata: {annotations: {k8s.io/initial-events-end: "true"}, resourceVersion: VERSION}}`,
  );
  const resourceVersion = events[2]?.object.metadata.resourceVersion;
  const created = await api.create(`${core}/secrets`, secret("c"));
  expect(Number(resourceVersion)).toBeLessThan(Number(created.metadata.resourceVersion));
  expect(await take(watch, 1)).toEqual(["ADDED c"]);
});

test("sendInitialEvents without bookmarks sends the existing objects and no bookmark", async ({ api, core }) => {
  await api.create(`${core}/secrets`, secret("a"));
  await waitForCache(api, `${core}/secrets`);
  using watch = await api.watch(`${core}/secrets?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0`);
  expect(await take(watch, 1)).toEqual(["ADDED a"]);
  await api.create(`${core}/secrets`, secret("b"));

  expect(await take(watch, 1)).toEqual(["ADDED b"]);
});

test("sendInitialEvents=false sends only new changes", async ({ api, core }) => {
  await api.create(`${core}/secrets`, secret("a"));
  using watch = await api.watch(`${core}/secrets?sendInitialEvents=false&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`);
  await api.create(`${core}/secrets`, secret("b"));

  expect(await take(watch, 1)).toEqual(["ADDED b"]);
});

test("contradictory options of a watch are refused", async ({ api, core }) => {
  expect(await api.get(`${core}/secrets?watch=true&sendInitialEvents=true`)).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "resourceVersionMatch",
            message: "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            reason: "FieldValueForbidden",
          },
        ],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      reason: "Invalid",
    }
  `);
  expect(await api.get(`${core}/secrets?watch=true&resourceVersionMatch=NotOlderThan`)).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "resourceVersionMatch",
            message: "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            reason: "FieldValueForbidden",
          },
        ],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      reason: "Invalid",
    }
  `);
  expect(await api.get(`${core}/secrets?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1`))
    .toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "resourceVersionMatch",
            message: "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            reason: "FieldValueForbidden",
          },
          {
            field: "resourceVersionMatch",
            message: 'Unsupported value: "Exact": supported values: "NotOlderThan"',
            reason: "FieldValueNotSupported",
          },
        ],
        group: "meta.k8s.io",
        kind: "ListOptions",
      },
      message: 'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]',
      reason: "Invalid",
    }
  `);
  expect(await api.get(`${core}/secrets?watch=true&resourceVersion=new`)).toMatchInlineSnapshot(
    `500 Failure {message: 'resourceVersion: Invalid value: "new": strconv.ParseUint: parsing "new": invalid syntax'}`,
  );
  expect(await api.get(`${core}/secrets?watch=true&fieldSelector=data=a`)).toMatchInlineSnapshot(
    `400 Failure {message: "field label not supported: data", reason: "BadRequest"}`,
  );
  expect(await api.get(`${core}/secrets?watch=true&labelSelector=a=b=c`)).toMatchInlineSnapshot(
    `400 Failure {message: "found '=', expected: ',' or 'end of string'", reason: "BadRequest"}`,
  );
});

test("a watch from a version that is no longer kept ends with an ERROR event of 410", async ({ api, core, namespace }) => {
  const forgetful = perServer({ embedded: outliveHistory, "kube-apiserver": defineKind });
  using watch = await api.watch(`${await forgetful(api, core, namespace)}?resourceVersion=1`);

  expect(watch.status).toBe(200);
  expect((await watch.rest()).map((event) => ({ ...event.object, message: event.object.message.replace(/\d+ \(\d+\)/, "1 (VERSION)") })))
    .toMatchInlineSnapshot(`
    [
      {
        apiVersion: "v1",
        code: 410,
        kind: "Status",
        message: "too old resource version: VERSION (VERSION)",
        metadata: {},
        reason: "Expired",
        status: "Failure",
      },
    ]
  `);
});

test("timeoutSeconds ends a watch", async ({ api, core }) => {
  const startedMs = Date.now();
  using watch = await api.watch(`${core}/secrets?resourceVersion=${await versionOf(api, `${core}/secrets`)}&timeoutSeconds=1`);

  expect(await watch.rest()).toEqual([]);
  expect(Date.now() - startedMs).toBeGreaterThan(900);
  // Without a timeout a watch lasts half an hour.
  expect(Date.now() - startedMs).toBeLessThan(50_000);
});

test("a watch with bookmarks gets one before its time-out, which has only a kind and a version", async ({ api, core }) => {
  await api.create(`${core}/secrets`, secret("a"));
  const version = await versionOf(api, `${core}/secrets`);
  await api.create(`${core}/secrets`, secret("b"));
  await waitForCache(api, `${core}/secrets`);
  const events = await eventually(async () => {
    using watch = await api.watch(`${core}/secrets?resourceVersion=${version}&timeoutSeconds=3&allowWatchBookmarks=true`);
    const all = await watch.rest();
    // Due two seconds before the end, which a busy server may miss.
    expect(all.map(({ type }) => type)).toContain("BOOKMARK");
    return all;
  });

  expect(events.map(inShort)[0]).toBe("ADDED b");
  const bookmark = events.find(({ type }) => type === "BOOKMARK");
  expect(bookmark).toMatchInlineSnapshot(`BOOKMARK {apiVersion: "v1", kind: "Secret", metadata: {resourceVersion: VERSION}}`);
  expect(Number(bookmark?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(events[0]?.object.metadata.resourceVersion));
});

test("a watch can deliver metadata only", async ({ api, core }) => {
  using watch = await api.watch(`${core}/secrets`, { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" });
  await api.create(`${core}/secrets`, secret("a"));

  expect(await watch.take(1)).toMatchInlineSnapshot(`
    ADDED {
      apiVersion: "meta.k8s.io/v1",
      kind: "PartialObjectMetadata",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
});

test("a watch of tables describes its columns once", async ({ api, core }) => {
  using watch = await api.watch(`${core}/secrets`, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
  for (const name of "ab") await api.create(`${core}/secrets`, secret(name));

  const [first, second] = await watch.take(2);
  expect(first?.object.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(["Name", "Type", "Data", "Age"]);
  expect(first?.object.rows[0].cells.slice(0, 3)).toEqual(["a", "Opaque", 0]);
  expect(second?.object.columnDefinitions).toBeNull();
});

test("the deprecated path /watch is served", async ({ api, core, namespace }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));
  using watch = await api.watch(`/api/v1/watch/namespaces/${namespace}/configmaps?fieldSelector=metadata.name=settings`);

  expect(watch.status).toBe(200);
  expect(await take(watch, 1)).toEqual(["ADDED settings"]);
});

/** A collection with more changes than the embedded server keeps. */
async function outliveHistory(api: Api, core: string): Promise<string> {
  await api.create(`${core}/secrets`, secret("a"));
  for (let change = 0; change < 2 * embeddedWatchHistory; change++) {
    await api.patch("merge", `${core}/secrets/a`, { metadata: { labels: { change: String(change) } } });
  }
  return `${core}/secrets`;
}

/** A collection of a new kind, before which the real server has no history. It keeps more changes than a test can write. */
async function defineKind(api: Api, _core: string, namespace: string): Promise<string> {
  const group = `${namespace}.example.com`;
  const names = { plural: "wishes", singular: "wish", kind: "Wish" };
  const schema = { openAPIV3Schema: { type: "object" } };
  const spec = { group, scope: "Cluster", names, versions: [{ name: "v1", served: true, storage: true, schema }] };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await api.create(definitions, { metadata: { name: `wishes.${group}` }, spec });
  onTestFinished(async () => void (await api.delete(`${definitions}/wishes.${group}`)));
  const collection = `/apis/${group}/v1/wishes`;
  await eventually(async () => expect((await api.get(collection)).status).toBe(200), { timeoutMs: 60_000 });
  return collection;
}
