import type { KeyPair } from "@virtual-kubelet/pki";
import { connect, constants, type ClientHttp2Session } from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { allow, startWebhookServer, webhookConfiguration } from "../test-support/webhook-server.ts";
import { startApiServer, type ApiServer } from "../start-api-server.ts";

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  readonly warning?: string | undefined;
}

async function overHttp1(
  server: ApiServer,
  path: string,
  options: { method?: string; body?: string; token?: string; ca?: string; agent?: Agent } = {},
): Promise<Answer> {
  const { method = "GET", body, token = server.token, ca = server.caPem, agent = false } = options;
  const request = httpsRequest(`${server.url}${path}`, {
    method,
    ca,
    agent,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });
  request.end(body);
  const [response] = await once(request, "response");
  return { status: response.statusCode, body: await text(response), warning: response.headers.warning };
}

function open(
  session: ClientHttp2Session,
  server: ApiServer,
  path: string,
): { status: Promise<number>; stream: ReturnType<ClientHttp2Session["request"]> } {
  const stream = session.request({ [constants.HTTP2_HEADER_PATH]: path, authorization: `Bearer ${server.token}` });
  return { stream, status: once(stream, "response").then(([headers]) => Number(headers[constants.HTTP2_HEADER_STATUS])) };
}

test("HTTPS answers over HTTP/1.1, with a certificate of the server's authority", async () => {
  await using server = await startApiServer({ controllers: false });

  const created = await overHttp1(server, "/api/v1/namespaces/default/configmaps", {
    method: "POST",
    body: JSON.stringify({ metadata: { name: "c" }, data: { a: "ü" } }),
  });
  const read = await overHttp1(server, "/api/v1/namespaces/default/configmaps/c");

  expect(created.status).toBe(201);
  expect(JSON.parse(read.body).data).toEqual({ a: "ü" });
  await expect(overHttp1(server, "/version", { ca: "" })).rejects.toThrow();
});

test("a warning with any characters arrives as UTF-8", async () => {
  await using hooks = await startWebhookServer({ "/": allow({ warnings: ["日本 é", "with\tcontrol"] }) });
  await using server = await startApiServer({ controllers: false });
  const configuration = webhookConfiguration("ValidatingWebhookConfiguration", "a", { clientConfig: hooks.clientConfig("") });
  const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  await overHttp1(server, path, { method: "POST", body: JSON.stringify(configuration) });

  const created = await overHttp1(server, "/api/v1/namespaces/default/configmaps", {
    method: "POST",
    body: JSON.stringify({ metadata: { name: "c" } }),
  });

  expect(created.status).toBe(201);
  expect(Buffer.from(created.warning ?? "", "latin1").toString()).toBe('299 - "日本 é"');
});

test("HTTPS serves concurrent requests over HTTP/2, and streams a watch line by line", async () => {
  await using server = await startApiServer({ controllers: false });
  const session = connect(server.url, { ca: server.caPem });
  const watch = open(
    session,
    server,
    "/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
  );
  expect(await watch.status).toBe(200);

  const lists = await Promise.all(Array.from({ length: 20 }, () => open(session, server, "/api/v1/pods").status));
  await overHttp1(server, "/api/v1/namespaces/default/configmaps", { method: "POST", body: JSON.stringify({ metadata: { name: "c" } }) });
  const [line] = await once(watch.stream, "data");

  expect(lists).toEqual(Array.from({ length: 20 }, () => 200));
  expect(JSON.parse(String(line))).toMatchObject({ type: "ADDED", object: { metadata: { name: "c" } } });
  session.destroy();
});

test("a caller with a wrong token gets 401, a body beyond 3 MiB 413", async () => {
  await using server = await startApiServer({ controllers: false });

  const unauthorized = await overHttp1(server, "/api/v1/pods", { token: "wrong" });
  const tooLarge = await overHttp1(server, "/api/v1/namespaces/default/configmaps", {
    method: "POST",
    body: JSON.stringify({ data: "x".repeat(3 * 1024 * 1024) }),
  });

  expect(unauthorized.status).toBe(401);
  expect(tooLarge.status).toBe(413);
});

test("a connection whose body was too large is not used again", async () => {
  await using server = await startApiServer({ controllers: false });
  const agent = new Agent({ keepAlive: true });

  const tooLarge = await overHttp1(server, "/api/v1/namespaces", { method: "POST", body: "x".repeat(16 * 1024 * 1024), agent });
  const next = await overHttp1(server, "/api/v1/namespaces", { agent });

  expect([tooLarge.status, next.status]).toEqual([413, 200]);
  agent.destroy();
});

test("a client certificate is accepted only if the server's authority has signed it", async () => {
  await using server = await startApiServer({ controllers: false });
  await using other = await startApiServer({ controllers: false });
  const whoAmI = async ({ certificate, key }: KeyPair): Promise<Answer> => {
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const headers = { "content-type": "application/json" };
    const request = httpsRequest(`${server.url}${path}`, {
      method: "POST",
      ca: server.caPem,
      cert: certificate,
      key,
      agent: false,
      headers,
    });
    request.end("{}");
    const [response] = await once(request, "response");
    return { status: response.statusCode, body: await text(response) };
  };

  const own = await whoAmI(server.issueClientCertificate("system:node:n1", ["system:nodes"]));
  const foreign = await whoAmI(other.issueClientCertificate("system:node:n1", ["system:nodes"]));

  expect(JSON.parse(own.body).status.userInfo).toMatchObject({
    username: "system:node:n1",
    groups: ["system:nodes", "system:authenticated"],
  });
  expect(foreign.status).toBe(401);
});

test("closing the server ends its watches and frees its port", async () => {
  const server = await startApiServer({ controllers: false });
  const session = connect(server.url, { ca: server.caPem });
  const watch = open(session, server, "/api/v1/pods?watch=1");
  watch.stream.on("error", () => {});
  session.on("error", () => {});
  await watch.status;
  const closed = once(watch.stream, "close");

  await server.close();

  await closed;
  await using again = await startApiServer({ controllers: false, port: Number(new URL(server.url).port) });
  expect(again.url).toBe(server.url);
});

test("a port that is taken is an error", async () => {
  await using server = await startApiServer({ controllers: false });

  await expect(startApiServer({ port: Number(new URL(server.url).port) })).rejects.toThrow("EADDRINUSE");
});
