import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSocketServer, type AddressInfo, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

/** Address of this machine that the real server forwards to: none of the loopback. */
const address = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === "IPv4" && !/^(127|169\.254)\./.test(each.address))?.address;

/** What the pod's server was asked. */
interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Answers by path. */
const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "/cookies": (response) => response.setHeader("set-cookie", ["a=1; Path=/", "b=2"]).end(),
  "/hop": (response) => {
    const hop = { "proxy-connection": "keep-alive", "x-hop": "1", connection: "x-hop", "access-control-allow-origin": "*" };
    response.writeHead(200, { ...hop, "x-kept": "1" }).end("hop");
  },
  "/reset": (response) => void response.write("hello", () => response.socket?.destroy()),
  "/short": (response) => void response.setHeader("content-length", 100).write("hello", () => response.socket?.destroy()),
  "/sized": (response) => response.setHeader("content-length", 3).end("abc"),
};

async function listening(server: Server): Promise<AsyncDisposable & { readonly port: number }> {
  server.listen(0, address);
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: async () => void server.close() };
}

/** A pod whose address is that of this machine, and its HTTP server. */
async function startPod(api: Api, core: string): Promise<AsyncDisposable & { readonly port: number; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(({ method, url, headers }: IncomingMessage, response) => {
    seen.push({ method, url, headers });
    response.sendDate = false;
    (answers[url?.split("?", 1)[0] ?? ""] ?? answers["/sized"])?.(response);
  });
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const status = { phase: "Running", podIP: address, podIPs: [{ ip: address }] };
  expect((await api.patch("merge", `${core}/pods/web/status`, { status })).status).toBe(200);
  return Object.assign(await listening(server), { seen });
}

test.skipIf(address === undefined)("cookies, Host and headers reach the pod, and those of the connection do not", async ({ api, core }) => {
  await using pod = await startPod(api, core);
  const sent = { cookie: "s=1", connection: "x-hop", "x-hop": "1", "proxy-authorization": "x", host: "localhost" };

  const answer = await api.get(`${core}/pods/web:${pod.port}/proxy/sized?b=1&a=2`, sent);

  expect([answer.status, answer.body, answer.headers["content-length"], answer.headers["cache-control"]]).toEqual([
    200,
    "abc",
    "3",
    "no-cache, private",
  ]);
  expect(pod.seen.map(({ method, url }) => [method, url])).toEqual([["GET", "/sized?b=1&a=2"]]);
  expect(pod.seen[0]?.headers).toMatchObject({
    cookie: "s=1",
    host: "localhost",
    "x-forwarded-uri": `${core}/pods/web:${pod.port}/proxy/sized`,
  });
  for (const name of ["x-hop", "proxy-authorization", "authorization"]) expect(pod.seen[0]?.headers).not.toHaveProperty(name);
  expect(await api.request("HEAD", `${core}/pods/web:${pod.port}/proxy/sized`)).toMatchObject({ headers: { "content-length": "3" } });
});

test.skipIf(address === undefined)("cookies of the pod stay apart, and its connection's headers are dropped", async ({ api, core }) => {
  await using pod = await startPod(api, core);
  const ask = async (path: string): Promise<IncomingHttpHeaders> => (await api.get(`${core}/pods/web:${pod.port}/proxy${path}`)).headers;

  expect(await ask("/cookies")).toMatchObject({ "set-cookie": ["a=1; Path=/", "b=2"] });
  const headers = await ask("/hop");
  expect(headers).toMatchObject({ "x-kept": "1" });
  for (const name of ["x-hop", "proxy-connection", "access-control-allow-origin"]) expect(headers).not.toHaveProperty(name);
});

test.skipIf(address === undefined)("a body that breaks off breaks off for the client", async ({ api, core }) => {
  await using pod = await startPod(api, core);

  for (const path of ["reset", "short"])
    await expect(api.get(`${core}/pods/web:${pod.port}/proxy/${path}`)).rejects.toThrow(/aborted|hang up/);
});

test.skipIf(address === undefined)("a pod that switches the protocol unasked is an error", async ({ api, core }) => {
  await using _pod = await startPod(api, core);
  await using odd = await listening(
    createSocketServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => void socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: odd\r\nConnection: Upgrade\r\n\r\n"));
    }),
  );

  expect(await api.get(`${core}/pods/web:${odd.port}/proxy/a`)).toMatchObject({
    status: 500,
    body: { message: 'backend tried to switch protocol "odd" when "" was requested' },
  });
});

test.skipIf(address === undefined)("a service reaches no pod of another namespace", async ({ api, core, namespace }) => {
  await using pod = await startPod(api, core);
  const publish = async (folder: string): Promise<void> => {
    await api.create(`${folder}/services`, { metadata: { name: "web" }, spec: { ports: [{ port: 80, name: "http" }] } });
    const addresses = [{ ip: address, targetRef: { namespace, name: "web" } }];
    await api.create(`${folder}/endpoints`, {
      metadata: { name: "web" },
      subsets: [{ addresses, ports: [{ name: "http", port: pod.port }] }],
    });
  };
  const other = `/api/v1/namespaces/${namespace}-other`;
  await api.create("/api/v1/namespaces", { metadata: { name: `${namespace}-other` } });
  await publish(core);
  await publish(other);

  expect(await api.get(`${core}/services/web:http/proxy/sized`)).toMatchObject({ status: 200, body: "abc" });
  expect(await api.get(`${other}/services/web:http/proxy/sized`)).toMatchObject({
    status: 503,
    body: { message: 'no endpoints available for service "web:http"' },
  });
  await api.delete(other);
});

test("addresses of pods that hide an IPv4 address are refused", async ({ api, core }) => {
  await api.create(`${core}/pods`, podNamed("web", { nodeName: "n1" }));
  const write = (ip: string) => api.patch("merge", `${core}/pods/web/status`, { status: { podIP: ip, podIPs: [{ ip }] } });

  expect((await write("::ffff:10.0.0.1")).body.message).toBe(
    'Pod "web" is invalid: status.podIPs[0]: Invalid value: "::ffff:10.0.0.1": must not be an IPv4-mapped IPv6 address',
  );
  for (const ip of ["0::0", "0:0:0:0:0:0:0:0"]) {
    expect((await write(ip)).status).toBe(200);
    expect((await api.get(`${core}/pods/web:80/proxy/`)).body).toMatchObject({ code: 400, message: "address not allowed" });
  }
});
