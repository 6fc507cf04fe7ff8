import { VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { noMetrics, noTracer, type MetricLabels, type Pod, type SpanAttributes, type Tracer } from "@virtual-kubelet/kube-client";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AccessAttributes, AccessControl } from "../access-control/access-control.ts";
import { Router } from "../routes/router.ts";
import type { KubeletRequest } from "../routes/route.ts";
import { NodeDirectory } from "../routes/served-node.ts";
import { fakeNode, fakePod } from "../test-support/fake-node.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { text, type Answer } from "./answer.ts";
import { RequestPipeline, type IncomingRequest } from "./request-pipeline.ts";
import { ThrottledLog } from "./throttled-log.ts";
import { RequestMetrics } from "./request-metrics.ts";

/** A pipeline for two nodes, with a route for pods and routes for the cases under test. */
function setUp(
  access: Partial<AccessControl> = {},
  pods: Pod[] = [fakePod()],
  tracer: Tracer = noTracer,
  answered: Answer = text("served"),
) {
  const asked: AccessAttributes[] = [];
  const served: KubeletRequest[] = [];
  const counted: (MetricLabels | undefined)[] = [];
  const logger = new RecordingLogger();
  const handler = (request: KubeletRequest): Answer => {
    served.push(request);
    return answered;
  };
  const accessControl: AccessControl = {
    authenticate: async () => ({ name: "alice", groups: [] }),
    authorize: async (_user, attributes) => {
      asked.push(attributes);
      return { allowed: true };
    },
    ...access,
  };
  const methods = ["GET", "POST"];
  const door = new RequestPipeline({
    accessControl,
    directory: new NodeDirectory([fakeNode({ name: "n1" }), fakeNode({ name: "n2", pods })]),
    router: new Router([
      { path: "/pods", methods, handler },
      { path: "/exec/{namespace}/{pod}/{container}", methods, handler },
      { path: "/portForward/{namespace}/{pod}", methods, handler },
      { path: "/fails", methods, handler: () => Promise.reject(new UnavailableError("the back end is away")) },
      { path: "/unsupported", methods, handler: () => Promise.reject(new UnsupportedError("no such thing")) },
      { path: "/broken", methods, handler: () => Promise.reject(new Error("bug")) },
    ]),
    metrics: new RequestMetrics({
      metrics: { ...noMetrics, count: (name, labels) => void counted.push({ ...labels, name }) },
      clock: new VirtualClock(),
    }),
    logger,
    throttledLog: new ThrottledLog({ clock: new VirtualClock(), logger }),
    tracer,
  });
  const ask = async (
    url: string,
    method = "GET",
    more: Partial<IncomingRequest> = {},
    failing = false,
  ): Promise<{ status: number; body: unknown; isAuthorized: boolean }> => {
    let answer: Answer | undefined;
    let isAuthorized = false;
    const socket = { authorized: false, getPeerCertificate: () => ({}) } as unknown as IncomingRequest["socket"];
    const call = { method, url, headers: {}, socket, upgrade: undefined, signal: new AbortController().signal, ...more };
    await door.handle(
      call,
      async (sent) => {
        answer = sent;
        if (failing) throw new Error("the client has disconnected");
      },
      () => {
        isAuthorized = true;
      },
    );
    if (!answer || "taken" in answer) throw new Error("no answer");
    return { status: answer.status, body: answer.body, isAuthorized };
  };
  return { ask, asked, served, counted, logger };
}

test("a caller without credentials gets 401, before the path is looked at", async () => {
  const { ask, asked, served } = setUp({ authenticate: async () => undefined });

  for (const url of ["/pods", "/nonsense", "/exec/default/web/main"])
    expect(await ask(url)).toEqual({ status: 401, body: "Unauthorized", isAuthorized: false });
  expect([asked, served]).toEqual([[], []]);
});

test("while callers cannot be authenticated, all requests are refused, and that is logged", async () => {
  const { ask, served, logger } = setUp({ authenticate: () => Promise.reject(new UnavailableError("TokenReview: timeout")) });

  expect(await ask("/pods")).toEqual({ status: 401, body: "Unauthorized", isAuthorized: false });
  expect(served).toEqual([]);
  expect(logger.warnings).toHaveLength(1);
});

test("an unauthorized caller gets 403 in a kubelet's words, whether the pod exists or not", async () => {
  const { ask, served } = setUp({ authorize: async () => ({ allowed: false, reason: "no" }) });

  expect(await ask("/pods")).toEqual({
    status: 403,
    body: "Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
    isAuthorized: false,
  });
  expect((await ask("/nonsense")).status).toBe(403);
  expect((await ask("/nodes/n9/pods")).status).toBe(403);
  expect(served).toEqual([]);
});

test("while access cannot be decided, all requests are refused", async () => {
  const { ask, served } = setUp({ authorize: () => Promise.reject(new UnavailableError("SubjectAccessReview: timeout")) });

  expect(await ask("/exec/default/web/main")).toEqual({
    status: 500,
    body: "Authorization error (user=alice, verb=create, resource=nodes, subresource=proxy)",
    isAuthorized: false,
  });
  expect(served).toEqual([]);
});

test("the node is the one in the path's prefix, else the pod's, else the first", async () => {
  const { ask, asked, served } = setUp();

  await ask("/exec/default/web/main");
  await ask("/nodes/n1/exec/default/web/main");
  await ask("/exec/default/unknown/main");
  await ask("/pods");

  expect(asked.map(({ nodeName, verb }) => [nodeName, verb])).toEqual([
    ["n2", "create"],
    ["n1", "create"],
    ["n1", "create"],
    ["n1", "get"],
  ]);
  expect(served.map(({ node }) => node?.access.nodeName)).toEqual(["n2", "n1", "n1", undefined]);
});

test("a pod that moves to another node during authorization is not reached with permission for the first node", async () => {
  const pods: Pod[] = [];
  const authorize: AccessControl["authorize"] = async (_user, { nodeName }) => {
    pods.push(fakePod());
    return { allowed: nodeName === "n1" };
  };
  const { ask, served } = setUp({ authorize }, pods);

  await ask("/exec/default/web/main", "POST");

  expect(served.map(({ node }) => node?.access.nodeName)).toEqual(["n1"]);
});

test("an invalid node name in the prefix is 400, an unknown node 404", async () => {
  const { ask } = setUp();

  for (const name of ["..%2f", "UPPER", "-a", "a".repeat(254)]) expect((await ask(`/nodes/${name}/pods`)).status, name).toBe(400);
  expect(await ask("/nodes/n9/pods")).toMatchObject({ status: 404, body: "404: node n9 is not served here" });
});

test("the code of an error determines the status", async () => {
  const { ask, logger } = setUp();

  expect(await ask("/fails")).toEqual({ status: 503, body: "the back end is away", isAuthorized: true });
  expect(await ask("/broken?x=secret")).toEqual({ status: 500, body: "Internal Error: bug", isAuthorized: true });
  expect(await ask("/nonsense")).toMatchObject({ status: 404, isAuthorized: true });
  expect(await ask("/pods", "PUT")).toMatchObject({ status: 405, isAuthorized: true });
  expect(logger.warnings).toEqual(["a request failed", "a request failed"]);
  expect(logger.fields).toEqual([
    { path: "/fails", status: 503, err: "the back end is away" },
    { path: "/broken", status: 500, err: expect.stringContaining("bug") },
  ]);
});

test("a caller whose access cannot be decided does not fill the log, however many requests it sends", async () => {
  const { ask, logger } = setUp({ authorize: () => Promise.reject(new UnavailableError("the API server is away")) });

  for (let round = 0; round < 10; round++) expect(await ask("/pods")).toMatchObject({ status: 500, isAuthorized: false });

  expect(logger.warnings).toEqual(["a request could not be authorized", "a request failed"]);
});

test("requests, including refused ones, are counted with a bounded set of label values", async () => {
  const { ask, counted } = setUp();

  for (const url of ["/pods", "/metrics", "/metrics/resource", "/metrics/x", "/exec/a/b/c", "/nodes/n1/stats/summary", "/random", "/%zz"])
    await ask(url);
  await ask("/pods", "BREW");

  expect(counted.map((labels) => `${labels?.["method"]} ${labels?.["path"]} ${labels?.["long_running"]}`)).toEqual([
    "GET pods false",
    "GET metrics false",
    "GET metrics/resource false",
    "GET other false",
    "GET exec true",
    "GET stats false",
    "GET other false",
    "GET other false",
    "other pods false",
  ]);
});

test("an action in a pod creates a span that names the pod; other requests create none", async () => {
  const spans: [string, SpanAttributes][] = [];
  const tracer: Tracer = {
    span: (name, attributes, work) => {
      spans.push([name, attributes]);
      return work();
    },
  };
  const { ask } = setUp({}, [fakePod()], tracer);

  for (const url of ["/pods", "/exec/default/web/main", "/portForward/default/web", "/fails"]) await ask(url);

  expect(spans).toEqual([
    ["kubelet.exec", { "k8s.namespace.name": "default", "k8s.pod.name": "web", "k8s.container.name": "main" }],
    ["kubelet.portForward", { "k8s.namespace.name": "default", "k8s.pod.name": "web" }],
  ]);
});

test("every request gets one answer, which is not a 500", async () => {
  const { ask } = setUp();
  const unit = fc.constantFrom(
    "/",
    "%",
    "2",
    "f",
    "e",
    ".",
    "?",
    "&",
    "=",
    "\\",
    "\0",
    "é",
    "😀",
    "\ud800",
    "nodes/",
    "n1/",
    "pods",
    "exec",
  );
  const methods = fc.constantFrom("GET", "POST", "HEAD", "BREW", "", "__proto__");
  await fc.assert(
    fc.asyncProperty(fc.string({ unit, maxLength: 30 }), methods, async (tail, method) => {
      expect([200, 400, 404, 405, 414]).toContain((await ask(`/${tail}`, method)).status);
    }),
    { numRuns: 2000 },
  );
});

test("an unsupported call, or an error after the client has disconnected, is not logged as a failure", async () => {
  const { ask, logger } = setUp();

  expect(await ask("/unsupported")).toMatchObject({ status: 501, body: "no such thing" });
  expect(await ask("/fails", "GET", { signal: AbortSignal.abort(new Error("gone")) })).toMatchObject({ status: 503 });

  expect(logger.lines).toEqual([]);
});

test("an answer that cannot be sent is logged, and its resources are released as usual", async () => {
  let held = 0;
  const answered = { ...text("served"), held: { [Symbol.dispose]: () => void held++ } };
  const { ask, logger } = setUp({}, [fakePod()], noTracer, answered);

  await ask("/pods");
  expect([held, logger.lines]).toEqual([1, []]);
  await ask("/pods?x=y", "GET", {}, true);

  expect(held).toBe(2);
  expect(logger.lines).toEqual(["debug an answer could not be sent"]);
  expect(logger.fields).toEqual([{ path: "/pods", err: "the client has disconnected" }]);
});

test("the handler gets the request unchanged, with its user", async () => {
  const { ask, served } = setUp();
  const { signal } = new AbortController();
  const headers = { accept: "text/plain" };

  await ask("/nodes/n2/exec/default/we%62/main?a=%20b", "POST", { headers, signal });

  expect(served).toEqual([
    {
      method: "POST",
      path: "/nodes/n2/exec/default/we%62/main",
      query: "a=%20b",
      headers,
      params: { namespace: "default", pod: "web", container: "main" },
      user: { name: "alice", groups: [] },
      node: expect.objectContaining({ access: expect.objectContaining({ nodeName: "n2" }) }),
      upgrade: undefined,
      signal,
    },
  ]);
});

test("the access control gets the path without its query, and the verb and sub-resources that the request needs", async () => {
  const { ask, asked } = setUp();

  await ask("/nodes/n2/pods?a=b", "POST");

  expect(asked).toEqual([{ verb: "create", subresources: ["pods", "proxy"], nodeName: "n2", path: "/nodes/n2/pods" }]);
});

test("a refusal is logged once a minute with the user, the request and the reason, and so are failures to decide", async () => {
  const forbidding = setUp({ authorize: async () => ({ allowed: false, reason: "no RBAC" }) });
  await forbidding.ask("/pods?x");
  const user = { user: "alice", verb: "get", path: "/pods" };
  expect(forbidding.logger.lines).toEqual(["info a request was forbidden"]);
  expect(forbidding.logger.fields).toEqual([{ ...user, reason: "no RBAC" }]);

  for (let round = 0; round < 100; round++) await forbidding.ask(`/exec/${"x".repeat(10_000)}`, "POST");
  expect(JSON.stringify(forbidding.logger.fields).length).toBeLessThan(2_000);

  const down = setUp({ authorize: () => Promise.reject(new UnavailableError("timeout")) });
  for (let round = 0; round < 2; round++) await down.ask("/pods?x");
  expect(down.logger.lines.filter((line) => line === "warn a request could not be authorized")).toHaveLength(1);
  expect(down.logger.fields[0]).toEqual({ ...user, err: "timeout" });

  const unknown = setUp({ authenticate: () => Promise.reject(new UnavailableError("timeout")) });
  for (let round = 0; round < 2; round++) await unknown.ask("/pods");
  expect(unknown.logger.lines).toEqual(["warn a request was refused: its caller could not be authenticated"]);
  expect(unknown.logger.fields).toEqual([{ err: "timeout" }]);
});

test.each(["containerLogs", "exec", "attach", "portForward", "run", "checkpoint"])("for /%s, the pod determines the node", async (root) => {
  const { ask, asked } = setUp();

  await ask(`/${root}/default/web/main`);

  expect(asked).toMatchObject([{ nodeName: "n2" }]);
});

test("a request that does not concern a pod is authorized for the first node, whatever its path contains", async () => {
  const { ask, asked } = setUp();

  for (const path of ["/logs/default/web", "/stats/default/web", "/exec"]) await ask(path);

  expect(asked.map(({ nodeName }) => nodeName)).toEqual(["n1", "n1", "n1"]);
});

test("a node name has at most 253 characters, and /nodes alone names no node", async () => {
  const { ask } = setUp();

  for (const name of ["a", "a-b.c", "a".repeat(253)]) expect((await ask(`/nodes/${name}/pods`)).body, name).toContain("is not served here");
  for (const name of ["a-", ".a", "a_b", "n1%20"]) expect((await ask(`/nodes/${name}/pods`)).status, name).toBe(400);
  for (const path of ["/nodes", "/nodes/", "/nodes/n1", "/node/n1/pods"]) expect((await ask(path)).status, path).toBe(404);
  expect((await ask("/nodes//pods")).body).toBe("400: Bad Request: /nodes is not followed by a node name");
});

test("WebSockets are counted, other upgrades are not", async () => {
  const { ask, counted } = setUp();
  const upgradeTo = (protocol: string): Partial<IncomingRequest> => ({
    upgrade: { request: { headers: { connection: "Upgrade", upgrade: protocol } }, socket: new PassThrough(), head: Buffer.alloc(0) },
  });

  await ask("/portForward/default/web", "GET", upgradeTo("websocket"));
  await ask("/exec/default/web/main", "GET", upgradeTo("SPDY/3.1"));
  await ask("/exec/default/web/main", "GET");

  expect(counted.filter((labels) => labels?.["name"] === "kubelet_websocket_streaming_requests_total")).toEqual([
    { name: "kubelet_websocket_streaming_requests_total", subresource: "portforward" },
  ]);
});

test("a malformed path is refused before the caller is authenticated", async () => {
  let isAsked = false;
  const { ask } = setUp({
    authenticate: async () => {
      isAsked = true;
      return undefined;
    },
  });

  expect(await ask("/pods/%zz")).toEqual({
    status: 400,
    body: "400: Bad Request: the path has an invalid escape",
    isAuthorized: false,
  });
  expect(isAsked).toBe(false);
});
