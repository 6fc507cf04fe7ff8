import { expect, test, vi } from "vitest";
import { startApiServer } from "../start-api-server.ts";
import { boundPod, patches, podPath, podsPath, startTestServer, type TestServer } from "../test-support/test-server.ts";

async function createPod(server: TestServer, name: string, spec: object = {}, metadata: object = {}): Promise<string> {
  const { body } = await server.request("POST", podsPath, boundPod(name, spec, metadata));
  return body.metadata.resourceVersion as string;
}

test("the path /watch is a watch, of a collection or of one object", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  await server.request("POST", podsPath, boundPod("b"));
  const path = podsPath.replace("/api/v1/", "/api/v1/watch/");

  expect(await (await server.watch(path)).take(2)).toEqual(["ADDED a", "ADDED b"]);
  expect(await (await server.watch(`${path}/b`)).take(1)).toEqual(["ADDED b"]);
});

test("a watch from a resourceVersion starts with the next change", async () => {
  await using server = await startTestServer();
  await createPod(server, "a");
  const version = await createPod(server, "b");
  await createPod(server, "c");

  const watch = await server.watch(`${podsPath}?watch=1&resourceVersion=${version}`);
  await server.request("PATCH", podPath("a"), { metadata: { labels: { x: "1" } } }, patches.merge);
  await server.request("DELETE", podPath("b"), { gracePeriodSeconds: 0 });

  expect(await watch.take(4)).toEqual(["ADDED c", "MODIFIED a", "MODIFIED b", "DELETED b"]);
});

test.each(["", "&resourceVersion=0"])("a watch without a resourceVersion begins with what is there (%s)", async (query) => {
  await using server = await startTestServer();
  await createPod(server, "b");
  await createPod(server, "a");

  const watch = await server.watch(`${podsPath}?watch=1${query}`);
  await createPod(server, "c");

  expect(await watch.take(3)).toEqual(["ADDED a", "ADDED b", "ADDED c"]);
});

test("events carry kind, version and the resourceVersion of the change", async () => {
  await using server = await startTestServer();
  const version = await createPod(server, "a", { nodeName: "" });
  const watch = await server.watch(`${podsPath}?watch=1&resourceVersion=${version}`);

  await server.request("DELETE", podPath("a"));

  await watch.next();
  const deleted = await watch.next();
  expect(deleted).toMatchObject({ type: "DELETED", object: { kind: "Pod", apiVersion: "v1", metadata: { name: "a" } } });
  expect(Number(deleted?.object.metadata.resourceVersion)).toBe(Number(version) + 2);
});

test("with sendInitialEvents a bookmark marks the end of the initial objects", async () => {
  await using server = await startTestServer();
  const version = await createPod(server, "a");

  const watch = await server.watch(`${podsPath}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`);
  await createPod(server, "b");

  expect(await watch.take(1)).toEqual(["ADDED a"]);
  expect(await watch.next()).toEqual({
    type: "BOOKMARK",
    object: {
      kind: "Pod",
      apiVersion: "v1",
      metadata: { resourceVersion: version, annotations: { "k8s.io/initial-events-end": "true" } },
      spec: { containers: null },
      status: {},
    },
  });
  expect(await watch.take(1)).toEqual(["ADDED b"]);
});

test("with sendInitialEvents=false the initial objects are omitted", async () => {
  await using server = await startTestServer();
  await createPod(server, "a");

  const watch = await server.watch(`${podsPath}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`);
  await createPod(server, "b");

  expect(await watch.take(1)).toEqual(["ADDED b"]);
});

test("an object that starts to match is ADDED, one that stops matching is DELETED with its last matching state", async () => {
  await using server = await startTestServer();
  const version = await createPod(server, "a", {}, { labels: { app: "x" } });
  const watch = await server.watch(`${podsPath}?watch=1&resourceVersion=${version}&labelSelector=app%3Dy`);

  await server.request("PATCH", podPath("a"), { metadata: { labels: { app: "y" } } }, patches.merge);
  await server.request("PATCH", podPath("a"), { metadata: { labels: { more: "1" } } }, patches.merge);
  const { body: last } = await server.request("PATCH", podPath("a"), { metadata: { labels: { app: "z" } } }, patches.merge);

  expect(await watch.take(2)).toEqual(["ADDED a", "MODIFIED a"]);
  expect(await watch.next()).toMatchObject({
    type: "DELETED",
    object: { metadata: { labels: { app: "y", more: "1" }, resourceVersion: last.metadata.resourceVersion } },
  });
});

test("a field selector selects a node's pods, including those bound later", async () => {
  await using server = await startTestServer();
  const watch = await server.watch(`/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1`);

  await createPod(server, "other", { nodeName: "n2" });
  await createPod(server, "a", { nodeName: "" });
  await server.request("POST", `${podPath("a")}/binding`, { metadata: { name: "a" }, target: { kind: "Node", name: "n1" } });

  expect(await watch.take(1)).toEqual(["ADDED a"]);
});

test("a watch of one namespace gets no events of another", async () => {
  await using server = await startTestServer();
  const watch = await server.watch(
    "/api/v1/namespaces/kube-system/configmaps?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
  );

  await server.request("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "a" } });
  await server.request("POST", "/api/v1/namespaces/kube-system/configmaps", { metadata: { name: "b" } });

  expect(await watch.take(1)).toEqual(["ADDED b"]);
});

test("a watch from a version older than the history gets a 410 as an event and ends", async () => {
  await using server = await startTestServer({ watchHistory: 10 });
  const version = await createPod(server, "a");
  for (let index = 0; index < 20; index++)
    await server.request("PATCH", podPath("a"), { metadata: { labels: { x: String(index) } } }, patches.merge);

  const watch = await server.watch(`${podsPath}?watch=1&resourceVersion=${version}`);

  expect(watch.status).toBe(200);
  expect(await watch.next()).toMatchObject({
    type: "ERROR",
    object: { kind: "Status", code: 410, reason: "Expired", message: expect.stringMatching(/^too old resource version: \d+ \(\d+\)$/) },
  });
  expect(await watch.next()).toBeUndefined();
});

test("a watch from a future version is silent until it is reached", async () => {
  await using server = await startTestServer();
  const version = Number(await createPod(server, "a"));
  const watch = await server.watch(`${podsPath}?watch=1&resourceVersion=${version + 1}`);

  await createPod(server, "b");
  await createPod(server, "c");

  expect(await watch.take(1)).toEqual(["ADDED c"]);
});

test("a bookmark comes every minute, with the latest resourceVersion of all kinds", async () => {
  await using server = await startTestServer();
  await createPod(server, "a");
  const watch = await server.watch(
    `${podsPath}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  );
  const { body: node } = await server.request("POST", "/api/v1/nodes", { metadata: { name: "n" } });

  await server.clock.advance(60_000);
  await server.clock.advance(60_000);

  expect(await watch.next()).toMatchObject({
    type: "BOOKMARK",
    object: { kind: "Pod", metadata: { resourceVersion: node.metadata.resourceVersion } },
  });
  expect(await watch.take(1)).toEqual(["BOOKMARK"]);
});

test("a watch ends at its timeout, two seconds after a last bookmark", async () => {
  await using server = await startTestServer();
  const watch = await server.watch(`${podsPath}?watch=1&timeoutSeconds=10&allowWatchBookmarks=true`);

  await server.clock.advance(8_000);
  const last = await watch.take(1);
  await server.clock.advance(2_000);

  expect(last).toEqual(["BOOKMARK"]);
  expect(await watch.next()).toBeUndefined();
  expect(server.clock.pending).toBe(0);
});

test("a watch without a timeout lasts 30 to 60 minutes", async () => {
  await using server = await startTestServer();
  const watch = await server.watch(`${podsPath}?watch=1`);
  const ended = watch.next();

  await server.clock.advance(30 * 60_000 - 1);
  const stillOpen = server.clock.pending;
  await server.clock.advance(30 * 60_000 + 1);

  expect(stillOpen).toBe(1);
  expect(await ended).toBeUndefined();
});

test("a watch whose reader falls behind is closed", async () => {
  await using server = await startTestServer({ watchBuffer: 5 });
  const watch = await server.watch(`${podsPath}?watch=1`);

  for (let index = 0; index < 8; index++) await createPod(server, `p${index}`);

  const seen = await watch.take(9);
  expect(seen.at(-1)).toBe("end");
  expect(seen.length).toBeLessThan(9);
});

test("leaving a watch frees its timers", async () => {
  await using server = await startTestServer();
  const watch = await server.watch(`${podsPath}?watch=1&allowWatchBookmarks=true`);
  const reading = watch.next();

  watch.stop();

  await expect(reading).rejects.toThrow();
  expect(server.clock.pending).toBe(0);
});

test("closing the server ends its watches", async () => {
  const server = await startTestServer();
  const watch = await server.watch(`${podsPath}?watch=1`);

  await server[Symbol.asyncDispose]();

  expect(await watch.next()).toBeUndefined();
});

test.each([
  ["sendInitialEvents=true", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
  ["resourceVersionMatch=NotOlderThan", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"],
])("a watch with %s is refused with 422", async (query, message) => {
  await using server = await startTestServer();

  const { status, body } = await server.request("GET", `${podsPath}?watch=1&${query}`);

  expect(status).toBe(422);
  expect(body.message).toContain(message);
});

test("a watch may last longer than the 24 days of a Node.js timer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    await using server = await startApiServer({ listen: false, controllers: false });
    const path = `${podsPath}?watch=1&timeoutSeconds=3000000`;
    const { body } = await server.transport().request({ method: "GET", path, pool: "long", signal: new AbortController().signal });
    let hasEnded = false;
    const ended = (async () => {
      for await (const _chunk of body);
      hasEnded = true;
    })();

    await vi.advanceTimersByTimeAsync(2_999_999_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);

    await ended;
    expect(hasEnded).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test("a watch of tables sends the column definitions once", async () => {
  await using server = await startTestServer();
  await createPod(server, "a");
  await createPod(server, "b");
  const table = server.server.transport();
  const response = await table.request({
    method: "GET",
    path: `${podsPath}?watch=1&timeoutSeconds=5`,
    headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    pool: "long",
    signal: new AbortController().signal,
  });
  await server.clock.advance(5_000);

  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const events = Buffer.concat(chunks)
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

  expect(events.map(({ object }) => [object.kind, object.columnDefinitions?.[0].name, object.rows[0].cells[0]])).toEqual([
    ["Table", "Name", "a"],
    ["Table", undefined, "b"],
  ]);
});
