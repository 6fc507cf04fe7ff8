import { VirtualClock } from "@virtual-kubelet/clock";
import { isInvalidInput, isNotFound, isUnavailable } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import type { CallOptions, WatchEvent } from "./client.ts";
import { isDecodeError } from "../errors/decode-error.ts";
import { noMetrics, type Metrics } from "../telemetry/metrics.ts";
import type { Pod } from "./objects.ts";
import { resources } from "./resources.ts";
import { createKubeClient } from "./rest-client.ts";
import { OpenBody, ScriptedTransport, type ScriptedAnswer } from "../transport/scripted-transport.ts";
import type { Transport } from "../transport/transport.ts";

const { pods } = resources;
const web = { namespace: "default", name: "web" };
const type = { apiVersion: "v1", kind: "Pod" };
const podList = { apiVersion: "v1", kind: "PodList" };
/** What a server answers where it matters only that it is the pod. */
const webPod = { ...type, metadata: web };
const options: CallOptions = { signal: new AbortController().signal };

describe("KubeClient", () => {
  test("get returns the server's JSON as it is", async () => {
    const pod = { ...type, metadata: { ...web, creationTimestamp: "2026-01-01T00:00:00Z" }, future: { field: 1 } };
    const { client, transport } = answering({ body: pod });

    expect(await client.get(pods, web, options)).toEqual(pod);
    expect(transport.requests[0]).toMatchObject({ method: "GET", path: "/api/v1/namespaces/default/pods/web", pool: "short" });
    expect(transport.requests[0]?.headers).toEqual({ accept: "application/json", "user-agent": "virtual-kubelet" });
  });

  test("list returns the page, and where the next one is", async () => {
    const { client, transport } = answering(
      { body: { ...podList, items: [], metadata: { resourceVersion: "7", continue: "more" } } },
      { body: { ...podList, items: [webPod], metadata: { resourceVersion: "7", continue: "" } } },
    );

    expect(await client.list(pods, { fieldSelector: "spec.nodeName=vk", limit: 500 }, options)).toEqual({
      items: [],
      resourceVersion: "7",
      continue: "more",
    });
    expect(await client.list(pods, { namespace: "default" }, options)).toEqual({
      items: [webPod],
      resourceVersion: "7",
      continue: undefined,
    });
    expect(transport.requests.map((request) => request.path)).toEqual([
      "/api/v1/pods?fieldSelector=spec.nodeName%3Dvk&limit=500",
      "/api/v1/namespaces/default/pods",
    ]);
  });

  test("list and watch of a namespace take no object of another one", async () => {
    const other = { ...type, metadata: { ...web, namespace: "shop", resourceVersion: "7" } };
    const body = new OpenBody();
    const { client } = answering({ body: { ...podList, items: [other], metadata: { resourceVersion: "7" } } }, { body });

    await expect(client.list(pods, { namespace: "default" }, options)).rejects.toThrow('items[0].metadata.namespace "shop"');
    body.lines({ type: "ADDED", object: other });
    const events = (await client.watch(pods, { namespace: "default" }, options))[Symbol.asyncIterator]();
    await expect(events.next()).rejects.toThrow('object.metadata.namespace "shop", expected "default"');
  });

  test("create posts to the collection, and a subresource to its object", async () => {
    const { client, transport } = answering({ status: 201, body: webPod }, { status: 201, body: { kind: "Status", status: "Success" } });
    const pod: Pod = { metadata: web };

    await client.create(pods, pod, options);
    await client.create(pods, pod, { ...options, subresource: "binding" });

    expect(transport.requests.map((request) => request.path)).toEqual([
      "/api/v1/namespaces/default/pods",
      "/api/v1/namespaces/default/pods/web/binding",
    ]);
    expect(transport.requests[0]).toMatchObject({
      method: "POST",
      body: JSON.stringify(pod),
      headers: { "content-type": "application/json" },
    });
  });

  test("what cannot be sent is refused before anything is", async () => {
    const { client, transport } = answering();

    await expect(client.create(pods, { metadata: { name: "web" } }, options)).rejects.toSatisfy(isInvalidInput);
    await expect(client.replace(pods, { metadata: { namespace: "default" } }, options)).rejects.toThrow("metadata.name is missing");
    await expect(client.get(pods, { name: "web" }, options)).rejects.toSatisfy(isInvalidInput);
    expect(transport.requests).toEqual([]);
  });

  test.each([
    ["json", "application/json-patch+json"],
    ["merge", "application/merge-patch+json"],
    ["strategic", "application/strategic-merge-patch+json"],
  ] as const)("a %s patch is sent as %s", async (type, contentType) => {
    const { client, transport } = answering({ body: webPod });

    await client.patch(pods, web, { type, body: { status: { phase: "Running" } } }, { ...options, subresource: "status" });

    expect(transport.requests[0]).toMatchObject({
      method: "PATCH",
      path: "/api/v1/namespaces/default/pods/web/status",
      headers: { "content-type": contentType },
      body: '{"status":{"phase":"Running"}}',
    });
  });

  test("delete sends grace and preconditions", async () => {
    const { client, transport } = answering({ body: { kind: "Status", status: "Success" } });

    await client.delete(pods, web, { gracePeriodSeconds: 0, preconditions: { uid: "u1" } }, options);

    expect(JSON.parse(String(transport.requests[0]?.body))).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      preconditions: { uid: "u1" },
    });
  });

  test("a refusal is thrown with the operation, the server's words and its Retry-After", async () => {
    const { client } = answering(
      { status: 404, body: { kind: "Status", message: 'pods "web" not found' } },
      { status: 429, body: "slow down", headers: { "retry-after": "3" } },
    );

    await expect(client.patch(pods, web, { type: "merge", body: {} }, { ...options, subresource: "status" })).rejects.toSatisfy(isNotFound);
    await expect(client.list(pods, {}, options)).rejects.toMatchObject({
      retryAfterMs: 3000,
      message: "list pods: the server answered 429: slow down",
    });
  });

  test("an answer that is no JSON is an error that quotes nothing of it", async () => {
    const { client } = answering({ body: '{"data":{"password":"aHVudGVyMg=="' });

    const error: unknown = await client.get(resources.secrets, web, options).catch((thrown: unknown) => thrown);

    expect(error).toSatisfy(isUnavailable);
    expect(error).toSatisfy(isDecodeError);
    expect(String(error) + String((error as Error).cause)).not.toContain("aHV");
  });

  test("raw parses JSON and leaves plain text", async () => {
    const { client } = answering({ body: { major: "1" } }, { headers: { "content-type": "text/plain; charset=utf-8" }, body: "ok" });

    expect(await client.raw("GET", "/version", undefined, options)).toEqual({ major: "1" });
    expect(await client.raw("GET", "/readyz", undefined, options)).toBe("ok");
  });

  test("an aborted call throws the signal's reason and sends nothing", async () => {
    const { client, transport } = answering();

    await expect(client.get(pods, web, { signal: AbortSignal.abort(new Error("stopping")) })).rejects.toThrow("stopping");
    expect(transport.requests).toEqual([]);
  });

  test("requests are counted by code and method, those without an answer too", async () => {
    const counted: string[] = [];
    const metrics: Metrics = {
      count: (name, labels) => void counted.push(`${name} ${labels?.["method"]} ${labels?.["code"]}`),
      gauge() {},
      observe: (name, value, labels) => void counted.push(`${name} ${labels?.["method"]} ${value}`),
    };
    const clock = new VirtualClock();
    const transport = new ScriptedTransport(async (_, index) => {
      if (index === 1) throw new Error("refused");
      await clock.sleep(250);
      return { body: webPod };
    });
    const client = createKubeClient(transport, { metrics, clock });

    const get = client.get(pods, web, options);
    await clock.advance(250);
    await get;
    await expect(client.get(pods, web, options)).rejects.toThrow("refused");

    expect(counted).toEqual([
      "rest_client_requests_total GET 200",
      "rest_client_request_duration_seconds GET 0.25",
      "rest_client_requests_total GET <error>",
    ]);
  });
});

describe("KubeClient.watch", () => {
  test("yields events as they come, on the long pool, and ends with the server", async () => {
    const body = new OpenBody().lines(event("ADDED", "1"), event("MODIFIED", "2")).end();
    const { client, transport } = answering({ body });

    const events = await collect(await client.watch(pods, { resourceVersion: "0", allowWatchBookmarks: true }, options));

    expect(events).toEqual([event("ADDED", "1"), event("MODIFIED", "2")]);
    expect(transport.requests[0]).toMatchObject({
      pool: "long",
      path: "/api/v1/pods?watch=true&resourceVersion=0&allowWatchBookmarks=true",
    });
  });

  test("hands out what came whole, and throws for a line cut in the middle", async () => {
    const { client } = answering({ body: new OpenBody().lines(event("ADDED", "1")).text('{"type":"MODIFIED","obj').end() });
    const seen: unknown[] = [];

    const read = async (): Promise<void> => {
      for await (const each of await client.watch(pods, {}, options)) seen.push(each);
    };

    await expect(read()).rejects.toSatisfy(isDecodeError);
    expect(seen).toEqual([event("ADDED", "1")]);
  });

  test("frees the connection when it is left", async () => {
    const body = new OpenBody().lines(event("ADDED", "1"));
    const { client } = answering({ body });

    for await (const _ of await client.watch(pods, {}, options)) break;

    expect(body.left).toBe(true);
  });

  test("throws the signal's reason when aborted while waiting", async () => {
    const abort = new AbortController();
    const body = new OpenBody();
    const { client } = answering({ body });

    const reading = collect(await client.watch(pods, {}, { signal: abort.signal }));
    abort.abort(new Error("stopping"));

    await expect(reading).rejects.toThrow("stopping");
    expect(body.left).toBe(true);
  });
});

describe("KubeClient's requests", () => {
  test("go to the object or the collection that they are about, and say what they do when they are refused", async () => {
    const { client, transport } = answering(
      ...Array.from({ length: 12 }, () => ({ status: 403, body: { kind: "Status", message: "no" } })),
    );
    const { nodes } = resources;
    const node = { metadata: { name: "vk" } };
    const told: string[] = [];
    for (const call of [
      () => client.get(pods, web, options),
      () => client.get(nodes, { name: "vk" }, { ...options, subresource: "status" }),
      () => client.list(pods, { namespace: "default" }, options),
      () => client.list(pods, {}, options),
      () => client.create(pods, { metadata: web }, options),
      () => client.create(nodes, node, options),
      () => client.replace(nodes, node, { ...options, subresource: "status" }),
      () => client.patch(pods, web, { type: "merge", body: {} }, options),
      () => client.delete(pods, web, {}, options),
      () => client.watch(pods, { namespace: "default" }, options),
      () => client.watch(pods, {}, options),
      () => client.raw("GET", "/version", undefined, options),
    ] as (() => Promise<unknown>)[])
      told.push(await call().then(String, (error: Error) => error.message));

    expect(told.map((message, index) => `${message} (${transport.requests[index]?.method} ${transport.requests[index]?.path})`)).toEqual([
      "get pods default/web: no (GET /api/v1/namespaces/default/pods/web)",
      "get nodes/status vk: no (GET /api/v1/nodes/vk/status)",
      "list pods default: no (GET /api/v1/namespaces/default/pods)",
      "list pods: no (GET /api/v1/pods)",
      "create pods default: no (POST /api/v1/namespaces/default/pods)",
      "create nodes: no (POST /api/v1/nodes)",
      "replace nodes/status vk: no (PUT /api/v1/nodes/vk/status)",
      "patch pods default/web: no (PATCH /api/v1/namespaces/default/pods/web)",
      "delete pods default/web: no (DELETE /api/v1/namespaces/default/pods/web)",
      "watch pods default: no (GET /api/v1/namespaces/default/pods?watch=true)",
      "watch pods: no (GET /api/v1/pods?watch=true)",
      "GET /version: no (GET /version)",
    ]);
  });

  test("have a body and its type only where there is something to send", async () => {
    const { client, transport } = answering({ body: webPod }, { body: webPod }, { body: {} });

    await client.get(pods, web, options);
    await client.replace(pods, { metadata: web }, options);
    await client.raw("POST", "/token", { a: 1 }, options);

    expect(transport.requests.map((request) => ["body" in request, request.headers?.["content-type"], request.body])).toEqual([
      [false, undefined, undefined],
      [true, "application/json", JSON.stringify({ metadata: web })],
      [true, "application/json", '{"a":1}'],
    ]);
  });

  test("ask for an answer's metadata only, if that is enough", async () => {
    const { client, transport } = answering({ body: webPod }, { body: webPod });

    await client.get(pods, web, { ...options, answer: "metadata" });
    await client.get(pods, web, { ...options, answer: "object" });

    expect(transport.requests.map(({ headers }) => headers?.["accept"])).toEqual([
      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
      "application/json",
    ]);
  });

  test("take an object's metadata alone for the answer only where that was asked for", async () => {
    const body = { ...webPod, apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };
    const { client } = answering({ body }, { body });

    expect(await client.get(pods, web, { ...options, answer: "metadata" })).toEqual(body);
    await expect(client.get(pods, web, options)).rejects.toSatisfy(isDecodeError);
  });

  test("ask for a list's and a watch's metadata only, each in its own form", async () => {
    const metadata = { ...webPod.metadata, resourceVersion: "1" };
    const partial = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata };
    const list = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadataList", metadata: { resourceVersion: "1" }, items: [partial] };
    const { client, transport } = answering(
      { body: list },
      { body: new OpenBody().lines({ type: "ADDED", object: partial }).end() },
      { body: list },
      { body: new OpenBody().lines({ type: "ADDED", object: partial }).end() },
    );

    const { items } = await client.list(pods, {}, { ...options, answer: "metadata" });
    const events = await collect(await client.watch(pods, {}, { ...options, answer: "metadata" }));

    expect(items).toEqual([partial]);
    expect(events).toEqual([{ type: "ADDED", object: partial }]);
    expect(transport.requests.map(({ headers }) => headers?.["accept"])).toEqual([
      "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
    ]);
    await expect(client.list(pods, {}, options)).rejects.toSatisfy(isDecodeError);
    await expect(collect(await client.watch(pods, {}, options))).rejects.toSatisfy(isDecodeError);
  });

  test("use the connections that they are told to use", async () => {
    const { client, transport } = answering({ body: webPod }, { body: new OpenBody().end() });

    await client.get(pods, web, { ...options, pool: "lease" });
    await client.watch(pods, {}, { ...options, pool: "quiet" });

    expect(transport.requests.map(({ pool }) => pool)).toEqual(["lease", "quiet"]);
  });

  test("name their program", async () => {
    const transport = new ScriptedTransport(() => ({ body: webPod }));

    await createKubeClient(transport, { userAgent: "test/1.0" }).get(pods, web, options);

    expect(transport.requests[0]?.headers?.["user-agent"]).toBe("test/1.0");
  });
});

describe("KubeClient's answers", () => {
  test("to writes are the object as it is stored", async () => {
    const stored = { ...type, metadata: { ...web, resourceVersion: "8" } };
    const { client } = answering(...Array.from({ length: 3 }, () => ({ status: 201, body: stored })));

    expect(await client.create(pods, { metadata: web }, options)).toEqual(stored);
    expect(await client.replace(pods, { metadata: web }, options)).toEqual(stored);
    expect(await client.patch(pods, web, { type: "merge", body: {} }, options)).toEqual(stored);
  });

  test("of 300 and above are errors, those below are not", async () => {
    const { client } = answering({ status: 299, body: webPod }, { status: 300, body: webPod });

    expect(await client.get(pods, web, options)).toEqual(webPod);
    await expect(client.get(pods, web, options)).rejects.toThrow("get pods default/web: the server answered 300");
  });

  test("to a deletion are read to their end, which frees the connection", async () => {
    const body = new OpenBody().text('{"kind":"Status",').text('"status":"Success"}').end();
    const { client } = answering({ body });

    await client.delete(pods, web, {}, options);

    expect(body.left).toBe(true);
  });

  test("in several pieces are put together, also where a character was cut", async () => {
    const bytes = Buffer.from('{"name":"漢"}');
    const { client } = answering({ body: new OpenBody().bytes(bytes.subarray(0, 10)).bytes(bytes.subarray(10)).end() });

    expect(await client.raw("GET", "/version", undefined, options)).toEqual({ name: "漢" });
  });

  test.each([200, 404])(
    "of more than 256 MiB, here with %i, are read no further, and are an error that names the bound",
    async (status) => {
      let sent = 0;
      const piece = new Uint8Array(1024 * 1024);
      async function* endless(): AsyncGenerator<Uint8Array, void> {
        for (; sent < 1_000; sent++) yield piece;
      }
      const transport: Transport = {
        request: async () => ({ status, headers: {}, body: endless() }),
        [Symbol.asyncDispose]: async () => {},
      };

      const error: unknown = await createKubeClient(transport)
        .list(pods, {}, options)
        .catch((thrown: unknown) => thrown);

      expect(error).toSatisfy(isUnavailable);
      expect(error).toSatisfy(isDecodeError);
      expect(error).toMatchObject({ message: expect.stringMatching(/^list pods: the answer is longer than 256 MiB; ask for fewer/) });
      expect(sent).toBe(256);
    },
  );

  test("that are no JSON are named by their length", async () => {
    const { client } = answering({ body: "<html>" }, { body: "<html>" });

    await expect(client.get(pods, web, options)).rejects.toThrow("get pods default/web: the answer, 6 characters, is not JSON");
    await expect(client.raw("GET", "/version", undefined, options)).rejects.toThrow("GET /version: the answer, 6 characters, is not JSON");
  });

  test("of a kind that is not told are taken for JSON", async () => {
    const { client } = answering({ body: { a: 1 }, headers: { "content-type": "application/json; of=text/plain" } });

    expect(await client.raw("GET", "/version", undefined, options)).toEqual({ a: 1 });
  });
});

test("what is refused before it is sent is named", async () => {
  const { client } = answering();

  await expect(client.create(pods, { metadata: { name: "web" } }, options)).rejects.toThrow(
    'create pods "web": metadata.namespace is missing',
  );
  await expect(client.create(pods, {}, options)).rejects.toThrow("metadata.namespace is missing");
  await expect(client.create(pods, { metadata: { namespace: "default" } }, { ...options, subresource: "binding" })).rejects.toThrow(
    "write pods: metadata.name is missing",
  );
});

test("a call that is aborted under way is not counted as one without an answer", async () => {
  const counted: unknown[] = [];
  const abort = new AbortController();
  const transport = new ScriptedTransport(() => {
    abort.abort(new Error("stopping"));
    throw new Error("stopping");
  });
  const client = createKubeClient(transport, { metrics: { ...noMetrics, count: (_, labels) => void counted.push(labels) } });

  await expect(client.get(pods, web, { signal: abort.signal })).rejects.toThrow("stopping");

  expect(counted).toEqual([]);
});

test.each(["7", "null", '"text"', "[]", "{}", '{"type":"ADDED"}', '{"object":{}}', "no JSON"])(
  "a line of a watch that reads %s is no event, and is not quoted",
  async (line) => {
    const { client } = answering({ body: new OpenBody().text(`${line}\n`).end() });

    const error: unknown = await collect(await client.watch(pods, {}, options)).catch((thrown: unknown) => thrown);

    expect(error).toSatisfy(isDecodeError);
    expect(error).toMatchObject({ message: `watch pods: a line of ${line.length} characters is not a watch event` });
  },
);

function event(type: "ADDED" | "MODIFIED", resourceVersion: string): WatchEvent<Pod> {
  return { type, object: { apiVersion: "v1", kind: "Pod", metadata: { ...web, resourceVersion } } };
}

function answering(...answers: ScriptedAnswer[]): { client: ReturnType<typeof createKubeClient>; transport: ScriptedTransport } {
  const transport = new ScriptedTransport((_, index) => {
    const answer = answers[index];
    if (!answer) throw new Error(`request ${index} is one too many`);
    return answer;
  });
  return { client: createKubeClient(transport), transport };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
