import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { eventually } from "@virtual-kubelet/testing";
import { once } from "node:events";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { request } from "node:https";
import { expect, onTestFinished, test } from "vitest";

const configMaps = "/api/v1/namespaces/default/configmaps";
const aConfigMap = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } });

/** Result of a request over HTTP/1.1: status and body, or the code of an error. */
function send(server: ApiServer, method: string, path: string, body?: string): Promise<{ status?: number; body: string; error?: string }> {
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  return new Promise((resolve) => {
    let text = "";
    const fail = (error: Error & { code?: string }): void => resolve({ body: text, error: error.code ?? error.message });
    const sent = request(server.url + path, { method, ca: server.caPem, headers, agent: false }, (response) => {
      const { statusCode = 0 } = response;
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.once("end", () => resolve({ status: statusCode, body: text })).once("error", fail);
    });
    sent.once("error", fail).end(body);
  });
}

/** HTTP/2 session that is closed at the end of the test. */
async function openSession(server: ApiServer): Promise<ClientHttp2Session> {
  const session = connect(server.url, { ca: server.caPem });
  onTestFinished(() => session.destroy());
  await once(session, "connect");
  return session;
}

function stream(session: ClientHttp2Session, server: ApiServer, method: string, path: string): ClientHttp2Stream {
  return session.request({ ":method": method, ":path": path, authorization: `Bearer ${server.token}`, "content-type": "application/json" });
}

test("over HTTP/1.1 the connection breaks, before or after the change was made", async () => {
  await using server = await startApiServer();
  server.faults.inject({ verb: "create", times: 1 }, { kind: "reset" });
  server.faults.inject({ verb: "create", times: 1 }, { kind: "reset", forward: true });

  expect(await send(server, "POST", configMaps, aConfigMap)).toEqual({ body: "", error: "ECONNRESET" });
  expect((await send(server, "GET", `${configMaps}/a`)).status).toBe(404);
  expect(await send(server, "POST", configMaps, aConfigMap)).toEqual({ body: "", error: "ECONNRESET" });
  expect((await send(server, "GET", `${configMaps}/a`)).status).toBe(200);
});

test("over HTTP/2 only the request's own stream breaks", async () => {
  await using server = await startApiServer();
  const session = await openSession(server);
  const watch = stream(session, server, "GET", `${configMaps}?watch=true`).setEncoding("utf8");
  await once(watch, "data");
  server.faults.inject({ verb: "create" }, { kind: "reset", forward: true });

  const broken = stream(session, server, "POST", configMaps);
  broken.end(aConfigMap);
  const [line] = (await Promise.all([once(watch, "data"), once(broken, "error")]))[0] as [string];

  expect(line).toContain('"name":"a"');
  expect(session.closed).toBe(false);
});

test("a watch breaks off in the middle of a line", async () => {
  await using server = await startApiServer();
  server.faults.inject({ verb: "watch" }, { kind: "cut-line" });

  const { body, error } = await send(server, "GET", `${configMaps}?watch=true`);

  expect(error).toBe("ECONNRESET");
  expect(body).toMatch(/^\{"type":"ADDED"/);
  expect(body).not.toContain("\n");
});

test("a server closes while a request waits for its answer", async () => {
  const server = await startApiServer();
  const rule = server.faults.inject({ verb: "list" }, { kind: "drop" });
  const waiting = send(server, "GET", configMaps);
  await eventually(() => expect(rule.hits).toBe(1));

  await server.close();

  expect((await waiting).error).toBe("ECONNRESET");
});

test("a status fault comes with Retry-After, and requests of other users pass", async () => {
  await using server = await startApiServer({ authorization: "AlwaysAllow" });
  server.faults.inject({ user: "kubernetes-admin" }, { kind: "status", status: 429, retryAfterSeconds: 3 });
  const { certificate: cert, key } = server.issueClientCertificate("ann");
  const status = (options: object): Promise<unknown> =>
    new Promise((resolve, reject) =>
      request(server.url + configMaps, { ca: server.caPem, agent: false, ...options }, (response) => {
        response.resume();
        resolve([response.statusCode, response.headers["retry-after"]]);
      })
        .once("error", reject)
        .end(),
    );

  expect(await status({ headers: { authorization: `Bearer ${server.token}` } })).toEqual([429, "3"]);
  expect(await status({ cert, key })).toEqual([200, undefined]);
});
