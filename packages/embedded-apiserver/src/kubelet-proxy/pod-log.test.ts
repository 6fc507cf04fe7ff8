import { expect, test } from "vitest";
import { nodeWith, startKubeletWorld, textOf, type KubeletWorld } from "../test-support/kubelet-world.ts";
import { boundPod, podPath } from "../test-support/test-server.ts";

const node = nodeWith("n1", {
  addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
  daemonEndpoints: { kubeletEndpoint: { Port: 1234 } },
});

function startWithPod(): KubeletWorld {
  return startKubeletWorld([node, boundPod("a")]);
}

test("a log comes from the pod's kubelet", async () => {
  const world = startWithPod();
  world.answer = { headers: { "content-type": "text/html", "x-secret": "1" }, body: "one\ntwo\n" };

  const response = await world.ask(`${podPath("a")}/log`);

  expect(response).toMatchObject({ status: 200, headers: { "content-type": "text/plain" } });
  expect(response.headers).not.toHaveProperty("x-secret");
  expect(await textOf(response)).toBe("one\ntwo\n");
  expect(world.sent.map(({ url }) => url.href)).toEqual(["https://10.0.0.7:1234/containerLogs/default/a/c"]);
});

test.each([
  ["follow=true&previous=1&timestamps", "follow=true&previous=true&timestamps=true"],
  ["follow=false&previous=0&timestamps=False", ""],
  ["tailLines=0&sinceSeconds=60&limitBytes=7", "sinceSeconds=60&tailLines=0&limitBytes=7"],
  ["tailLines=%2B5", "tailLines=5"],
  ["sinceTime=", ""],
  ["sinceTime=2026-01-02T03:04:05.678Z", "sinceTime=2026-01-02T03%3A04%3A05Z"],
  ["sinceTime=2026-01-02T03:04:05%2B02:00", "sinceTime=2026-01-02T01%3A04%3A05Z"],
  ["container=c&insecureSkipTLSVerifyBackend=true&pretty=true", ""],
])("of the options %s the kubelet is told %s", async (asked, told) => {
  const world = startWithPod();

  await world.ask(`${podPath("a")}/log?${asked}`);

  expect(world.sent[0]?.url.search).toBe(told === "" ? "" : `?${told}`);
});

test.each([
  ["tailLines=", 'strconv.ParseInt: parsing "": invalid syntax'],
  ["tailLines=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'],
  ["sinceTime=2026-01-02", 'parsing time "2026-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "2026-01-02" as "2006"'],
  ["container=d", "container d is not valid for pod a"],
])("the option %s is refused, and no kubelet is asked", async (asked, message) => {
  const world = startWithPod();

  expect(await world.refusal(`${podPath("a")}/log?${asked}`)).toMatchObject({ code: 400, reason: "BadRequest", message });
  expect(world.sent).toEqual([]);
});

test("names are escaped in the kubelet's path", async () => {
  const world = startKubeletWorld([node, boundPod("a.b", { initContainers: [{ name: "i", image: "x" }] })]);

  await world.ask(`${podPath("a.b")}/log?container=i`);

  expect(world.sent[0]?.url.pathname).toBe("/containerLogs/default/a.b/i");
});

const details = { name: "a", kind: "pods/log" };

test.each([
  [400, "no such container", { code: 400, reason: "BadRequest", message: "no such container" }],
  [
    500,
    "the disk is gone",
    {
      code: 500,
      reason: "InternalError",
      message: "Internal error occurred: the disk is gone",
      details: { causes: [{ message: "the disk is gone" }] },
    },
  ],
  [
    401,
    "who?",
    { code: 401, reason: "Unauthorized", message: "the server has asked for the client to provide credentials ( pods/log a)", details },
  ],
  [403, "Forbidden (user=x)", { code: 403, reason: "Forbidden", message: "Forbidden (user=x) ( pods/log a)", details }],
  [404, "none", { code: 404, reason: "NotFound", message: "the server could not find the requested resource ( pods/log a)", details }],
  [
    503,
    "busy",
    { code: 503, reason: "ServiceUnavailable", message: "the server is currently unable to handle the request ( pods/log a)", details },
  ],
  [
    502,
    'gate"way',
    {
      code: 502,
      reason: "InternalError",
      message: 'an error on the server ("gate\\"way") has prevented the request from succeeding ( pods/log a)',
      details,
    },
  ],
  [
    418,
    "tea",
    {
      code: 418,
      message: "the server responded with the status code 418 but did not return more information ( pods/log a)",
      details,
    },
  ],
  [301, "there", { code: 301, details }],
])("a kubelet's %i is told in the real server's words", async (statusCode, body, told) => {
  const world = startWithPod();
  world.answer = { statusCode, body };

  expect(await world.refusal(`${podPath("a")}/log`)).toMatchObject(told);
});

test("a kubelet's error message is truncated", async () => {
  const world = startWithPod();
  world.answer = { statusCode: 400, body: "x".repeat(100_000) };

  expect((await world.refusal(`${podPath("a")}/log`)).message).toHaveLength(50_000);
});

test("an unreachable kubelet is an error that names its address", async () => {
  const world = startWithPod();
  world.answer = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", address: "10.0.0.7", port: 1234 });

  expect(await world.refusal(`${podPath("a")}/log?tailLines=1`)).toMatchObject({
    code: 500,
    message: 'Get "https://10.0.0.7:1234/containerLogs/default/a/c?tailLines=1": dial tcp 10.0.0.7:1234: connect: connection refused',
  });
});

test("a pod without a node has no log yet", async () => {
  const world = startKubeletWorld([boundPod("a", { nodeName: "" })]);

  expect(await world.ask(`${podPath("a")}/log`)).toMatchObject({ status: 204 });
  expect(world.sent).toEqual([]);
});

test("a client that disconnects ends the request to the kubelet, even if that is silent", async () => {
  const world = startWithPod();
  world.answer = { isSilent: true };
  const { body } = await world.ask(`${podPath("a")}/log?follow=true`);
  if (body instanceof Uint8Array) throw new Error("a log is not of one piece");
  const chunks = body[Symbol.asyncIterator]();
  const next = chunks.next();

  await chunks.return?.();

  expect(world.messages[0]?.destroyed).toBe(true);
  expect(await next).toMatchObject({ done: true });
});

test("a client that disconnects before reading ends the request to the kubelet as well", async () => {
  const world = startWithPod();
  world.answer = { isSilent: true };
  const { body } = await world.ask(`${podPath("a")}/log?follow=true`);
  if (body instanceof Uint8Array) throw new Error("a log is not of one piece");

  await body[Symbol.asyncIterator]().return?.();

  expect(world.messages[0]?.destroyed).toBe(true);
});

test("a kubelet that disappears ends the log", async () => {
  const world = startWithPod();
  world.answer = { isSilent: true };
  const response = await world.ask(`${podPath("a")}/log?follow=true`);
  const [message] = world.messages;
  message?.push("before\n");
  const text = textOf(response);
  setImmediate(() => message?.destroy(new Error("read ECONNRESET")));

  expect(await text).toBe("before\n");
});

test("the request to the kubelet lasts as long as the client waits", async () => {
  const world = startWithPod();
  const { signal } = new AbortController();

  await world.ask(`${podPath("a")}/log`, { signal });

  expect(world.sent[0]?.signal).toBe(signal);
});
