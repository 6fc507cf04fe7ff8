import { isUnavailable } from "@virtual-kubelet/errdefs";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { Credentials, TlsMaterial } from "../credentials/credentials.ts";
import { certificate, key } from "../test-support/api-server-certificate.ts";
import { LoopbackProxy } from "../test-support/loopback-proxy.ts";
import { openSocket } from "./open-socket.ts";

const idle = new AbortController().signal;
const tls: TlsMaterial = { ca: certificate, serverName: "kubernetes" };
const opened: (Server | Socket | AsyncDisposable)[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) {
    if ("destroy" in each) each.destroy();
    else if ("close" in each) each.close();
    else await each[Symbol.asyncDispose]();
  }
});

/** Starts a server that answers each request with the value of its `authorization`. */
async function start(isSecure: boolean): Promise<number> {
  const answer = (request: IncomingMessage, response: { end(text: string): void }): void =>
    response.end(request.headers.authorization ?? "");
  const server = isSecure ? createSecureServer({ key, cert: certificate }, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.push(server);
  return (server.address() as AddressInfo).port;
}

const credentialsOf = (server: string, proxy?: string): Credentials => ({
  server,
  proxy,
  current: () => Promise.resolve({ tls }),
  refresh: () => Promise.resolve(),
});

/** Opens a connection, sends a request on it, and returns the answer. */
async function ask(credentials: Credentials): Promise<string> {
  const socket = await openSocket(credentials, { tls }, idle);
  opened.push(socket);
  socket.end("GET / HTTP/1.1\r\nHost: kubernetes\r\nAuthorization: Bearer t\r\nConnection: close\r\n\r\n");
  const chunks: Buffer[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test("a connection of its own reaches a server with TLS, whose name the credentials tell", async () => {
  expect(await ask(credentialsOf(`https://127.0.0.1:${await start(true)}`))).toMatch(/^HTTP\/1.1 200 OK[^]*Bearer t$/);
});

test("and a server without TLS", async () => {
  expect(await ask(credentialsOf(`http://127.0.0.1:${await start(false)}`))).toMatch(/^HTTP\/1.1 200 OK/);
});

test("and one that only a proxy reaches", async () => {
  const proxy = await LoopbackProxy.http(await start(true));
  opened.push(proxy);

  expect(await ask(credentialsOf("https://kubernetes:6443", proxy.url()))).toMatch(/^HTTP\/1.1 200 OK/);
  expect(proxy.asked).toEqual(["kubernetes:6443"]);
});

test("a server that cannot be reached is named", async () => {
  const server = "https://127.0.0.1:1";

  await expect(openSocket(credentialsOf(server), { tls }, idle)).rejects.toSatisfy(
    (error) => isUnavailable(error) && String(error).includes(server),
  );
});

test("a server with another authority's certificate is not believed", async () => {
  const server = `https://127.0.0.1:${await start(true)}`;

  await expect(openSocket(credentialsOf(server), { tls: { serverName: "kubernetes" } }, idle)).rejects.toSatisfy(isUnavailable);
});

test("an aborted attempt ends at once, with its reason", async () => {
  const abort = new AbortController();
  const socket = openSocket(credentialsOf(`https://127.0.0.1:${await start(true)}`), { tls }, abort.signal);
  abort.abort(new Error("enough"));

  await expect(socket).rejects.toThrow("enough");
});
