import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import {
  apiServiceOf,
  startAggregatedServer,
  type AggregatedServer,
  type ReceivedRequest,
} from "../../packages/embedded-apiserver/src/test-support/aggregated-server.ts";
import type { Answer, Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

interface Registered extends AsyncDisposable {
  readonly group: string;
  readonly far: AggregatedServer;
}

/** Registers a server at a service with an external name, and waits until requests are forwarded to it. */
async function register(api: Api, namespace: string, { hasAggregatedDiscovery = true } = {}): Promise<Registered> {
  const group = `${namespace}.example.com`;
  const far = await startAggregatedServer({ group, names: [`api.${namespace}.svc`], hasAggregatedDiscovery });
  await api.create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: "api" },
    spec: { type: "ExternalName", externalName: "localhost" },
  });
  const service = { namespace, name: "api", port: far.port };
  await api.create(apiServices, apiServiceOf(group, service, { caBundle: far.caBundle }));
  await becomes(api, group, "Passed");
  await isForwarded(api, group);
  return {
    group,
    far,
    async [Symbol.asyncDispose]() {
      await api.delete(`${apiServices}/v1.${group}`);
      await far[Symbol.asyncDispose]();
    },
  };
}

/** Waits for the reason of the condition Available. @returns the condition */
async function becomes(api: Api, group: string, reason: string): Promise<{ readonly message: string }> {
  let found = { message: "" };
  await eventually(
    async () => {
      const { body } = await api.get(`${apiServices}/v1.${group}`);
      found = body.status.conditions?.[0];
      expect(found).toMatchObject({ type: "Available", reason });
    },
    { timeoutMs: 60_000 },
  );
  return found;
}

/** Waits until the proxy of the real server has seen the condition. Requests for discovery are not among the far server's received ones. */
async function isForwarded(api: Api, group: string): Promise<void> {
  await eventually(async () => await expectStatus(api, `/apis/${group}/v1`, 200), { timeoutMs: 60_000 });
}

/** Headers that the server adds or keeps. */
function forwarded({ method, url, headers, body, client }: ReceivedRequest, group: string): unknown {
  const shown = Object.entries(headers).filter(([name]) =>
    /^(x-remote-|x-forwarded-(uri|proto)|authorization|impersonate|x-custom|content-type)/.test(name),
  );
  const all = { method, url, headers: Object.fromEntries(shown.toSorted()), body, client };
  return JSON.parse(
    JSON.stringify(all)
      .replaceAll(group, "GROUP")
      .replaceAll(group.split(".", 1)[0] ?? "", "NAMESPACE"),
  );
}

const plain = ({ status, body, headers }: Answer): unknown => ({ status, body, contentType: headers["content-type"] });

test("requests are forwarded with the user, and without the client's credentials", async ({ api, namespace }) => {
  await using registered = await register(api, namespace);
  const { group, far } = registered;
  const flunders = `/apis/${group}/v1/namespaces/${namespace}/flunders`;
  // A user without permissions is refused before anything is forwarded.
  const refused = await api.get(flunders, { "impersonate-user": "jane" });
  expect(refused.status).toBe(403);
  expect(far.received).toEqual([]);
  await api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    metadata: { name: group },
    rules: [{ apiGroups: [group], resources: ["flunders"], verbs: ["*"] }],
  });
  await api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: group },
    subjects: [{ kind: "User", name: "jane", apiGroup: "rbac.authorization.k8s.io" }],
    roleRef: { kind: "ClusterRole", name: group, apiGroup: "rbac.authorization.k8s.io" },
  });
  const answer = await eventually(
    async () => {
      const got = await api.request("POST", `${flunders}?z=1&a=%2F`, {
        body: { a: 1 },
        headers: {
          "x-custom": "yes",
          "x-remote-user": "somebody",
          "x-remote-extra-more": "more",
          "impersonate-user": "jane",
          "impersonate-group": "team",
          "impersonate-uid": "42",
          "impersonate-extra-some%2fkey": "value",
        },
      });
      expect(got.status).toBe(200);
      return got;
    },
    { timeoutMs: 30_000 },
  );
  expect(answer.headers["x-far"]).toBe("yes");
  expect(far.received.map((each) => forwarded(each, group))).toMatchInlineSnapshot(`
    [
      {
        body: '{"a":1}',
        client: "front-proxy-client",
        headers: {
          content-type: "application/json",
          x-custom: "yes",
          x-forwarded-proto: "https",
          x-forwarded-uri: "/apis/GROUP/v1/namespaces/NAMESPACE/flunders",
          x-remote-extra-some%2fkey: "value",
          x-remote-group: "team, system:authenticated",
          x-remote-uid: "42",
          x-remote-user: "jane",
        },
        method: "POST",
        url: "/apis/GROUP/v1/namespaces/NAMESPACE/flunders?a=%2F&z=1",
      },
    ]
  `);
  await api.delete(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${group}`);
  await api.delete(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${group}`);
});

test("watches are streamed, and redirects refused", async ({ api, namespace }) => {
  await using registered = await register(api, namespace);
  const { group } = registered;
  using watch = await api.watch(`/apis/${group}/v1/flunders`);
  const [event] = await watch.take(1);
  const redirected = await api.get(`/apis/${group}/v1/redirect`);
  expect([event?.type, event?.object, plain(redirected)]).toMatchInlineSnapshot(`
    [
      "ADDED",
      {metadata: {name: "a"}},
      {
        body: "the backend attempted to redirect this request, which is not permitted",
        contentType: "text/plain; charset=utf-8",
        status: 502,
      },
    ]
  `);
});

test("upgraded connections are forwarded with the user", async ({ api, namespace, target, certificateOf }) => {
  await using registered = await register(api, namespace);
  const { group, far } = registered;
  const request = httpsRequest(`${target.server}/apis/${group}/v1/flunders/a/console?b=1`, {
    agent: false,
    ca: target.ca,
    ...certificateOf("jane", ["system:masters"]),
    headers: { connection: "Upgrade", upgrade: "echo", "x-remote-user": "somebody", "x-custom": "yes", "impersonate-user": "jim" },
  });
  request.end();
  // Jim may not do it.
  const [refused] = (await once(request, "response")) as [IncomingMessage];
  expect(refused.statusCode).toBe(403);
  refused.destroy();
  const second = httpsRequest(`${target.server}/apis/${group}/v1/flunders/a/console?b=1`, {
    agent: false,
    ca: target.ca,
    ...certificateOf("jane", ["system:masters"]),
    headers: { connection: "Upgrade", upgrade: "echo", "x-remote-user": "somebody", "x-custom": "yes" },
  });
  second.end();
  const [, socket] = (await once(second, "upgrade")) as [IncomingMessage, Duplex];
  socket.write("hello");
  expect(String((await once(socket, "data"))[0])).toBe("hello");
  socket.destroy();
  const shown = far.received.map(({ url, client, headers }) => ({
    url: url.replace(group, "GROUP"),
    client,
    user: headers["x-remote-user"],
    groups: headers["x-remote-group"],
    custom: headers["x-custom"],
  }));
  expect(shown).toMatchInlineSnapshot(`
    [
      {
        client: "front-proxy-client",
        custom: "yes",
        groups: "system:masters, system:authenticated",
        url: "/apis/GROUP/v1/flunders/a/console?b=1",
        user: "jane",
      },
    ]
  `);
});

test.for([true, false])("discovery shows the far resources; aggregated there: %s", async (hasAggregatedDiscovery, { api, namespace }) => {
  await using registered = await register(api, namespace, { hasAggregatedDiscovery });
  const { group } = registered;
  const ofGroup = async (): Promise<unknown> => {
    const { body } = await api.get("/apis", { accept: v2 });
    return body.items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === group);
  };
  await eventually(async () => expect(await ofGroup()).toMatchObject({ versions: [{ freshness: "Current" }] }), { timeoutMs: 30_000 });
  const { body: groups } = await api.get("/apis");
  const found = groups.groups.find(({ name }: { name: string }) => name === group);
  const answers = [await ofGroup(), found, plain(await api.get(`/apis/${group}`)), plain(await api.get(`/apis/${group}/v1`))];
  expect(JSON.parse(JSON.stringify(answers).replaceAll(group, "GROUP"))).toMatchSnapshot();
});

test("OpenAPI documents are forwarded", async ({ api, namespace }) => {
  await using registered = await register(api, namespace);
  const { group } = registered;
  await eventually(
    async () => {
      const { body } = await api.get("/openapi/v3");
      expect(body.paths[`apis/${group}/v1`]).toEqual({ serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=1` });
    },
    { timeoutMs: 90_000, intervalMs: 1000 },
  );
  expect((await api.get(`/openapi/v3/apis/${group}/v1?hash=1`)).body).toEqual({ openapi: "3.0.0", info: { title: group, version: "v1" } });
});

test("an API service says why it is unavailable, and answers 503", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const services = `/api/v1/namespaces/${namespace}/services`;
  const seen: unknown[] = [];
  const note = async (reason: string): Promise<void> => {
    const { message } = await becomes(api, group, reason);
    const answer = await eventually(async () => await expectStatus(api, `/apis/${group}/v1/flunders`, 503), { timeoutMs: 30_000 });
    seen.push([reason, message.replaceAll(namespace, "NAMESPACE"), plain(answer)]);
  };
  await api.create(apiServices, apiServiceOf(group, { namespace, name: "api" }, { insecureSkipTLSVerify: true }));
  await note("ServiceNotFound");
  await api.create(services, { metadata: { name: "api" }, spec: { ports: [{ name: "web", port: 80 }] } });
  await note("ServicePortError");
  await api.patch("json", `${services}/api`, [{ op: "replace", path: "/spec/ports/0/port", value: 443 }]);
  await note("EndpointsNotFound");
  const slice = {
    metadata: { name: "api", labels: { "kubernetes.io/service-name": "api" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.1"] }],
    ports: [{ name: "other", port: 443 }],
  };
  await api.create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, slice);
  await note("MissingEndpoints");
  await eventually(
    async () => {
      const { body } = await api.get("/apis", { accept: v2 });
      const stale = body.items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === group);
      expect(stale).toBeDefined();
      seen.push(stale.versions);
    },
    { timeoutMs: 30_000 },
  );
  await api.delete(`${apiServices}/v1.${group}`);
  await eventually(async () => seen.push(plain(await expectStatus(api, `/apis/${group}/v1/flunders`, 404))), { timeoutMs: 30_000 });
  expect(seen).toMatchSnapshot();
});

async function expectStatus(api: Api, path: string, status: number): Promise<Answer> {
  const answer = await api.get(path);
  expect(answer.status).toBe(status);
  return answer;
}

test("a failing API server, and one with another authority, are unavailable", async ({ api, namespace }) => {
  await using registered = await register(api, namespace);
  const { group, far } = registered;
  far.status = 500;
  const shown = async (): Promise<string> =>
    (await becomes(api, group, "FailedDiscoveryCheck")).message.replaceAll(`:${far.port}/`, ":PORT/").replaceAll(group, "GROUP");
  await api.patch("merge", `${apiServices}/v1.${group}`, { spec: { versionPriority: 16 } });
  const failed = await shown();
  far.status = 200;
  await api.patch("merge", `${apiServices}/v1.${group}`, { spec: { versionPriority: 17 } });
  await becomes(api, group, "Passed");
  await isForwarded(api, group);
  await api.patch("merge", `${apiServices}/v1.${group}`, { spec: { caBundle: null, insecureSkipTLSVerify: true } });
  expect((await api.get(`/apis/${group}/v1/flunders`)).status).toBe(200);
  await api.patch("merge", `${apiServices}/v1.${group}`, { spec: { insecureSkipTLSVerify: false } });
  expect([failed, await shown()]).toMatchInlineSnapshot(`
    [
      "failing or missing response from https://localhost:PORT/apis/GROUP/v1: bad status from https://localhost:PORT/apis/GROUP/v1: 500",
      'failing or missing response from https://localhost:PORT/apis/GROUP/v1: Get "https://localhost:PORT/apis/GROUP/v1": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    ]
  `);
});
