import { systemClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { createServer, request as httpsRequest, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { runRemoteCommand, UpgradeRefusedError } from "@virtual-kubelet/streaming";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { eventually } from "@virtual-kubelet/testing";
import { describe, expect, test } from "vitest";

const idle = new AbortController().signal;
const pod = "/api/v1/namespaces/default/pods/web";

/** Server in place of a kubelet that records its requests. */
class FakeKubelet implements AsyncDisposable {
  readonly requests: IncomingMessage[] = [];
  /** Common names of the client certificates. */
  readonly callers: (string | undefined)[] = [];
  readonly sockets = new Set<TLSSocket>();
  readonly #server: Server;

  private constructor(answer: RequestListener) {
    const { certificate, key } = createCertificateAuthority("kubelet").issue({ commonName: "n1", usages: ["server auth"] });
    this.#server = createServer({ cert: certificate, key, requestCert: true, rejectUnauthorized: false }, (request, response) => {
      this.#keep(request);
      answer(request, response);
    });
    this.#server.on("secureConnection", (socket) => {
      this.sockets.add(socket.on("error", () => undefined));
      socket.once("close", () => this.sockets.delete(socket));
    });
    this.#server.on("upgrade", (request, socket) => {
      this.#keep(request);
      if (request.url === "/stay") socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
      else socket.end("HTTP/1.1 409 Conflict\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nnot today");
    });
  }

  static async start(answer: RequestListener): Promise<FakeKubelet> {
    const kubelet = new FakeKubelet(answer);
    kubelet.#server.listen(0, "127.0.0.1");
    await once(kubelet.#server, "listening");
    return kubelet;
  }

  #keep(request: IncomingMessage): void {
    this.requests.push(request);
    this.callers.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN as string | undefined);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** API server with a node for this kubelet and a pod on it. */
  cluster(): Promise<ApiServer> {
    const status = { addresses: [{ type: "InternalIP", address: "127.0.0.1" }], daemonEndpoints: { kubeletEndpoint: { Port: this.port } } };
    const spec = { nodeName: "n1", containers: [{ name: "main", image: "none" }] };
    return startApiServer({
      objects: [
        { apiVersion: "v1", kind: "Node", metadata: { name: "n1" }, status },
        { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "default" }, spec },
      ],
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Sends a request as the administrator. */
async function ask(cluster: ApiServer, path: string, options: { readonly method?: "GET" | "DELETE"; readonly body?: string } = {}) {
  const answer = await cluster.transport().request({ method: "GET", path, pool: "short", signal: idle, ...options });
  let text = "";
  for await (const chunk of answer.body) text += Buffer.from(chunk).toString();
  return { status: answer.status, text };
}

describe.each([
  ["never answers", (): void => undefined],
  ["answers, and then says nothing", (_request: IncomingMessage, response) => response.flushHeaders()],
] satisfies [string, RequestListener][])("a kubelet that %s", (_words, answer) => {
  test.each([`${pod}/log?follow=true`, "/api/v1/nodes/n1/proxy/pods"])("is let go of when the client of %s leaves", async (path) => {
    await using kubelet = await FakeKubelet.start(answer);
    await using cluster = await kubelet.cluster();
    const request = httpsRequest(cluster.url + path, { ca: cluster.caPem, headers: { authorization: `Bearer ${cluster.token}` } });
    request.on("error", () => undefined).end();
    await eventually(() => expect(kubelet.sockets.size).toBe(1));

    request.destroy();

    await eventually(() => expect(kubelet.sockets.size).toBe(0));
  });

  test("is let go of when a client without sockets leaves", async () => {
    await using kubelet = await FakeKubelet.start(answer);
    await using cluster = await kubelet.cluster();
    const leave = new AbortController();
    const reading = (async () => {
      const { body } = await cluster.transport().request({ method: "GET", path: `${pod}/log`, pool: "short", signal: leave.signal });
      for await (const _chunk of body);
    })();
    reading.catch(() => undefined);
    await eventually(() => expect(kubelet.requests).toHaveLength(1));

    leave.abort(new Error("enough"));

    await expect(reading).rejects.toThrow("enough");
    await eventually(() => expect(kubelet.sockets.size).toBe(0));
  });
});

test.each(["http/1.1", "h2"] as const)("a log that nobody reads does not fill the memory, over %s", async (protocol) => {
  let sentBytes = 0;
  await using kubelet = await FakeKubelet.start((_request, response) => {
    const flood = new Readable({
      read() {
        sentBytes += 65_536;
        this.push(sentBytes > 200_000_000 ? null : Buffer.alloc(65_536));
      },
    });
    pipeline(flood, response).catch(() => undefined);
  });
  await using cluster = await kubelet.cluster();
  const headers = { authorization: `Bearer ${cluster.token}` };
  await using client = new AsyncDisposableStack();
  if (protocol === "h2") {
    const session = connectHttp2(cluster.url, { ca: cluster.caPem });
    client.defer(() => session.destroy());
    session
      .request({ ":path": `${pod}/log`, ...headers })
      .on("error", () => undefined)
      .pause();
  } else {
    const request = httpsRequest(`${cluster.url}${pod}/log`, { ca: cluster.caPem, headers, agent: false });
    client.defer(() => void request.destroy());
    request.on("error", () => undefined).on("response", (response) => response.pause().on("error", () => undefined));
    request.end();
  }

  await eventually(() => expect(sentBytes).toBeGreaterThan(0));
  await delay(500);

  // The data is in the buffers of the sockets.
  expect(sentBytes).toBeLessThan(30_000_000);
});

test("kubelets are shown a certificate, other services of the node are not", async () => {
  await using kubelet = await FakeKubelet.start((_request, response) => void response.end("a kubelet"));
  await using service = await FakeKubelet.start((_request, response) => void response.end("a service"));
  await using cluster = await kubelet.cluster();

  expect(await ask(cluster, `${pod}/log`)).toEqual({ status: 200, text: "a kubelet" });
  expect(await ask(cluster, "/api/v1/nodes/n1/proxy/a")).toEqual({ status: 200, text: "a kubelet" });
  expect(await ask(cluster, `/api/v1/nodes/https:n1:${service.port}/proxy/a`)).toEqual({ status: 200, text: "a service" });

  expect(kubelet.callers).toEqual(["kube-apiserver-kubelet-client", "kube-apiserver-kubelet-client"]);
  expect(service.callers).toEqual([undefined]);
});

test("a body goes along whatever the method", async () => {
  await using kubelet = await FakeKubelet.start((request, response) => void request.pipe(response));
  await using cluster = await kubelet.cluster();

  expect(await ask(cluster, "/api/v1/nodes/n1/proxy/a", { method: "DELETE", body: "four" })).toEqual({ status: 200, text: "four" });
});

test("a connection that the kubelet has closed meanwhile is no error", async () => {
  await using kubelet = await FakeKubelet.start((request, response) => {
    // The second request on a connection fails.
    if (kubelet.requests.filter(({ socket }) => socket === request.socket).length > 1) request.socket.destroy();
    else response.end("here");
  });
  await using cluster = await kubelet.cluster();

  for (let round = 0; round < 3; round++) expect(await ask(cluster, `${pod}/log`)).toEqual({ status: 200, text: "here" });
});

test("a command is asked for in a kubelet's words, without the caller's credentials; its refusal is passed on", async () => {
  await using kubelet = await FakeKubelet.start((_request, response) => void response.end());
  await using cluster = await kubelet.cluster();
  const query = "command=sh&command=-c&command=a%20b%26c&stdout=true&stdin=1&stderr=false";
  const headers = {
    authorization: `Bearer ${cluster.token}`,
    cookie: "a=b",
    "impersonate-user": "jane",
    "impersonate-group": "system:masters",
  };
  const target = { url: `${cluster.url}${pod}/exec?${query}`, headers, tls: { ca: cluster.caPem } };

  const error: unknown = await runRemoteCommand(target, { transport: "spdy", clock: systemClock }).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(UpgradeRefusedError);
  expect(error).toMatchObject({ statusCode: 409, body: "not today" });
  const [asked] = kubelet.requests;
  expect(asked?.url).toBe("/exec/default/web/main?input=1&output=1&command=sh&command=-c&command=a+b%26c");
  expect(Object.keys(asked?.headers ?? {})).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(authorization|cookie|impersonate)/)]),
  );
  expect(kubelet.callers).toEqual(["kube-apiserver-kubelet-client"]);
});

test("an upgrade below the node proxy is handed on, to a kubelet with a certificate, to another service without", async () => {
  await using kubelet = await FakeKubelet.start((_request, response) => void response.end());
  await using service = await FakeKubelet.start((_request, response) => void response.end());
  await using cluster = await kubelet.cluster();
  const upgrade = async (node: string): Promise<void> => {
    const url = `${cluster.url}/api/v1/nodes/${node}/proxy/exec/default/web/main?command=a&output=1`;
    const target = { url, headers: { authorization: `Bearer ${cluster.token}` }, tls: { ca: cluster.caPem } };
    const running = runRemoteCommand(target, { transport: "websocket", clock: systemClock });
    await expect(running).rejects.toMatchObject({ statusCode: 409, body: "not today" });
  };

  await upgrade("n1");
  await upgrade(`https:n1:${service.port}`);

  expect(kubelet.callers).toEqual(["kube-apiserver-kubelet-client"]);
  expect(service.callers).toEqual([undefined]);
  expect(service.requests[0]?.url).toBe("/exec/default/web/main?command=a&output=1");
});

test.each(["the client leaves", "the API server is closed"])("what was handed on ends when %s", async (end) => {
  await using kubelet = await FakeKubelet.start((_request, response) => void response.end());
  await using cluster = await kubelet.cluster();
  const headers = { authorization: `Bearer ${cluster.token}`, connection: "Upgrade", upgrade: "SPDY/3.1" };
  const request = httpsRequest(`${cluster.url}/api/v1/nodes/n1/proxy/stay`, { ca: cluster.caPem, headers, agent: false }).end();
  const [, socket] = (await once(request, "upgrade")) as [IncomingMessage, TLSSocket];
  socket.on("error", () => undefined);
  expect(kubelet.sockets.size).toBe(1);

  if (end === "the client leaves") socket.destroy();
  else await cluster.close();

  await eventually(() => expect([kubelet.sockets.size, socket.destroyed]).toEqual([0, true]));
});

test("what is no upgrade cannot become one, and a node that nobody answers at is said", async () => {
  let cluster: ApiServer;
  {
    await using kubelet = await FakeKubelet.start((_request, response) => void response.end());
    cluster = await kubelet.cluster();
  }
  await using _closing = cluster;
  const target = { url: `${cluster.url}${pod}/exec?command=a&stdout=1`, headers: { authorization: `Bearer ${cluster.token}` } };

  expect(JSON.parse((await ask(cluster, `${pod}/portforward`)).text)).toMatchObject({ code: 400, message: "Upgrade request required" });
  await expect(
    runRemoteCommand({ ...target, tls: { ca: cluster.caPem } }, { transport: "spdy", clock: systemClock }),
  ).rejects.toMatchObject({ statusCode: 500, body: expect.stringContaining("error dialing backend: ") });
});
