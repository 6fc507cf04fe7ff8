import { UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, noTracer, type MetricLabels, type Pod, type SpanAttributes, type Tracer } from "@virtual-kubelet/kube-client";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AccessAttributes, AccessControl } from "../access-control.ts";
import { Router } from "../routes/router.ts";
import type { KubeletRequest } from "../routes/route.ts";
import { NodeDirectory } from "../routes/served-node.ts";
import { fakeNode, fakePod } from "../test-support/fake-node.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { text, type Answer } from "./answer.ts";
import { FrontDoor, type IncomingCall } from "./front-door.ts";
import { SparseLog } from "./sparse-log.ts";
import { RequestMetrics } from "./request-metrics.ts";

/** A front door of two nodes, with a route for pods and one for everything's names. */
function setUp(access: Partial<AccessControl> = {}, pods: Pod[] = [fakePod()], tracer: Tracer = noTracer) {
  const asked: AccessAttributes[] = [];
  const served: KubeletRequest[] = [];
  const counted: (MetricLabels | undefined)[] = [];
  const logger = new RecordingLogger();
  const handler = (request: KubeletRequest): Answer => {
    served.push(request);
    return text("served");
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
  const door = new FrontDoor({
    accessControl,
    directory: new NodeDirectory([fakeNode({ name: "n1" }), fakeNode({ name: "n2", pods })]),
    router: new Router([
      { path: "/pods", methods, handler },
      { path: "/exec/{namespace}/{pod}/{container}", methods, handler },
      { path: "/fails", methods, handler: () => Promise.reject(new UnavailableError("the back end is away")) },
    ]),
    metrics: new RequestMetrics({ metrics: { ...noMetrics, count: (_name, labels) => void counted.push(labels) }, clock: new FakeClock() }),
    logger,
    sparseLog: new SparseLog({ clock: new FakeClock(), logger }),
    tracer,
  });
  const ask = async (url: string, method = "GET"): Promise<{ status: number; body: unknown; isLetIn: boolean }> => {
    let answer: Answer | undefined;
    let isLetIn = false;
    const socket = { authorized: false, getPeerCertificate: () => ({}) } as unknown as IncomingCall["socket"];
    const call = { method, url, headers: {}, socket, upgrade: undefined, signal: new AbortController().signal };
    await door.handle(
      call,
      async (sent) => {
        answer = sent;
      },
      () => {
        isLetIn = true;
      },
    );
    if (!answer || "taken" in answer) throw new Error("no answer");
    return { status: answer.status, body: answer.body, isLetIn };
  };
  return { ask, asked, served, counted, logger };
}

test("nobody is 401, before it is looked what was asked for", async () => {
  const { ask, asked, served } = setUp({ authenticate: async () => undefined });

  for (const url of ["/pods", "/nonsense", "/exec/default/web/main"])
    expect(await ask(url)).toEqual({ status: 401, body: "Unauthorized", isLetIn: false });
  expect([asked, served]).toEqual([[], []]);
});

test("while it cannot be found out who calls, nobody is let in, and that is logged", async () => {
  const { ask, served, logger } = setUp({ authenticate: () => Promise.reject(new UnavailableError("TokenReview: timeout")) });

  expect(await ask("/pods")).toEqual({ status: 401, body: "Unauthorized", isLetIn: false });
  expect(served).toEqual([]);
  expect(logger.warnings).toHaveLength(1);
});

test("who may not is 403 in a kubelet's words, whether there is anything or not", async () => {
  const { ask, served } = setUp({ authorize: async () => ({ allowed: false, reason: "no" }) });

  expect(await ask("/pods")).toEqual({
    status: 403,
    body: "Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
    isLetIn: false,
  });
  expect((await ask("/nonsense")).status).toBe(403);
  expect((await ask("/nodes/n9/pods")).status).toBe(403);
  expect(served).toEqual([]);
});

test("while it cannot be found out who may, nobody may", async () => {
  const { ask, served } = setUp({ authorize: () => Promise.reject(new UnavailableError("SubjectAccessReview: timeout")) });

  expect(await ask("/exec/default/web/main")).toEqual({
    status: 500,
    body: "Authorization error (user=alice, verb=create, resource=nodes, subresource=proxy)",
    isLetIn: false,
  });
  expect(served).toEqual([]);
});

test("the node that is asked for is the prefix's, the pod's, or the first", async () => {
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

test("a pod that comes to another node while it is asked who may is not reached with the first node's rights", async () => {
  const pods: Pod[] = [];
  const authorize: AccessControl["authorize"] = async (_user, { nodeName }) => {
    pods.push(fakePod());
    return { allowed: nodeName === "n1" };
  };
  const { ask, served } = setUp({ authorize }, pods);

  await ask("/exec/default/web/main", "POST");

  expect(served.map(({ node }) => node?.access.nodeName)).toEqual(["n1"]);
});

test("a prefix that is no node's name is 400, one of no node here 404", async () => {
  const { ask } = setUp();

  for (const name of ["..%2f", "UPPER", "-a", "a".repeat(254)]) expect((await ask(`/nodes/${name}/pods`)).status, name).toBe(400);
  expect(await ask("/nodes/n9/pods")).toMatchObject({ status: 404, body: "404: node n9 is not served here" });
});

test("an error decides the status by its code", async () => {
  const { ask, logger } = setUp();

  expect(await ask("/fails")).toEqual({ status: 503, body: "the back end is away", isLetIn: true });
  expect(logger.warnings).toEqual(["a request failed"]);
});

test("requests are counted by a bounded set of names, refused ones too", async () => {
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

test("what is done in a pod is a span that names the pod; other requests are none", async () => {
  const spans: [string, SpanAttributes][] = [];
  const tracer: Tracer = {
    span: (name, attributes, work) => {
      spans.push([name, attributes]);
      return work();
    },
  };
  const { ask } = setUp({}, [fakePod()], tracer);

  for (const url of ["/pods", "/exec/default/web/main", "/fails"]) await ask(url);

  expect(spans).toEqual([["kubelet.exec", expect.objectContaining({ "k8s.pod.name": "web" })]]);
});

test("whatever is asked for, there is one answer, and it is no 500", async () => {
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
