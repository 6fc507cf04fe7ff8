import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const twoContainers = {
  containers: ["main", "side"].map((name) => ({ name, image: "nginx" })),
  initContainers: [{ name: "init", image: "nginx" }],
};

/** Responses of several requests, by request. */
async function answers(paths: readonly string[], ask: (path: string) => Promise<Answer>): Promise<Record<string, Answer>> {
  const entries: [string, Answer][] = [];
  for (const path of paths) entries.push([path, await ask(path)]);
  return Object.fromEntries(entries);
}

test("log options are checked before anything else", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web"));
  const queries = [
    "tailLines=-1",
    "limitBytes=0",
    "sinceSeconds=0",
    "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
    "stream=All",
    "tailLines=abc",
    "sinceTime=yesterday",
    "tailLines=-1&limitBytes=-5",
  ];

  expect(await answers(queries, (query) => api.get(`${core}/pods/none/log?${query}`))).toMatchSnapshot();
});

test("logs need an existing pod and one of its containers", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("one"));
  await api.create(`${core}/pods`, podNamed("two", twoContainers));
  const paths = ["none/log", "two/log", "two/log?container=other", "one/log?container=other"];

  expect(await answers(paths, (path) => api.get(`${core}/pods/${path}`))).toMatchSnapshot();
  for (const path of ["one/log", "two/log?container=init"]) {
    const { status, headers } = await api.get(`${core}/pods/${path}`);
    expect([status, headers["content-type"], headers["cache-control"]]).toEqual([204, undefined, "no-cache, private"]);
  }
});

test("exec, attach and port-forward need a pod on a node and one of its containers", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("one"));
  await api.create(`${core}/pods`, podNamed("two", twoContainers));
  const paths = ["none/exec", "one/exec", "one/attach", "one/portforward", "two/exec", "two/attach?container=other", "none/portforward"];

  expect(await answers(paths, (path) => api.post(`${core}/pods/${path}`))).toMatchSnapshot();
});

test("the node must exist and have an address", async ({ api, core, namespace }) => {
  const nodeName = `${namespace}-node`;
  await api.create(`${core}/pods`, podNamed("away", { nodeName: "no-such-node" }));
  await api.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } });
  await api.create(`${core}/pods`, podNamed("lost", { nodeName }));
  const paths = ["away/log", "away/exec", "away/portforward", "lost/log", "lost/attach"];

  expect(
    await answers(paths, (path) => (path.endsWith("log") ? api.get(`${core}/pods/${path}`) : api.post(`${core}/pods/${path}`))),
  ).toMatchSnapshot();
  await api.delete(`/api/v1/nodes/${nodeName}`);
});

test("the root path of the node proxy is forwarded", async ({ api, namespace }) => {
  const path = `/api/v1/nodes/${namespace}-node`;
  const status = { addresses: [{ type: "InternalIP", address: "192.0.2.1" }] };
  await api.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: `${namespace}-node` }, status });

  for (const query of ["", "?a=b%20c"]) {
    const answer = await api.get(`${path}/proxy${query}`, { accept: "text/html" });
    expect([answer.status, answer.headers.location, answer.body]).toEqual([301, `${path}/proxy/${query}`, ""]);
  }
  await api.delete(path);
});

test("forwarded requests accept any response format and cannot be dry runs", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("one"));
  const accept = { accept: "text/plain" };

  expect((await api.request("POST", `${core}/pods/one/exec`, { headers: accept })).body).toMatchObject({
    code: 400,
    message: "pod one does not have a host assigned",
  });
  expect((await api.get("/api/v1/nodes/no-such-node/proxy/x", accept)).body).toMatchObject({ code: 404 });
  expect(await api.get(`${core}/pods/one/log`, accept)).toMatchObject({ status: 406 });
  expect((await api.post(`${core}/pods/one/exec?dryRun=All`)).body).toMatchObject({ code: 400, message: "dryRun is not supported" });
});

test("the node proxy needs an existing node", async ({ api }) => {
  const paths = ["no-such-node/proxy/healthz", "no-such-node/proxy", "a:b:c:d/proxy/healthz"];

  expect(await answers(paths, (path) => api.get(`/api/v1/nodes/${path}`))).toMatchSnapshot();
});
