import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { NodeAccess } from "@virtual-kubelet/core";
import { noMetrics, type KubeClient } from "@virtual-kubelet/kube-client";
import { createAccessControl, createServingCertificate, startKubeletServer, type ClientCa } from "@virtual-kubelet/kubelet-api";
import { type CertificateAuthority, createCertificateAuthority, type KeyPair } from "@virtual-kubelet/pki";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";

const clientOf = (by: CertificateAuthority, commonName = "ann") => by.issue({ commonName, usages: ["client auth"] });

/** A client CA that tests can replace. */
class ChangingCa implements ClientCa {
  readonly searched: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<() => void>();
  #pem: string | undefined;

  constructor(pem: string | undefined) {
    this.#pem = pem;
  }

  current(): string | undefined {
    return this.#pem;
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  run(): Promise<void> {
    return Promise.resolve();
  }

  replace(pem: string | undefined): void {
    this.#pem = pem;
    for (const listener of this.#listeners) listener();
  }
}

/** A node's server that accepts every authenticated client. */
async function startServer(clientCa: ClientCa) {
  const lifetime = new AbortController();
  const client = { create: () => Promise.reject(new Error("nobody is to be asked")) } as unknown as KubeClient;
  const common = { client, clock: systemClock, random: systemRandom, metrics: noMetrics, lifetime: lifetime.signal };
  const { certificate, key } = createCertificateAuthority("serving-ca").issue({
    commonName: "vk",
    names: ["127.0.0.1"],
    usages: ["server auth"],
  });
  const pair = { current: () => ({ certificate, key }), onChange: () => ({ [Symbol.dispose]() {} }), run: async () => {} };
  const server = await startKubeletServer({
    nodes: [{ access: new NodeAccess({ nodeName: "vk", providerName: "none", metrics: noMetrics }) }],
    host: "127.0.0.1",
    port: 0,
    accessControl: createAccessControl({ clientCa, authorizationMode: "AlwaysAllow", ...common }),
    certificate: createServingCertificate(pair, clientCa),
  });
  return server;
}

/** A client with a single connection. */
class Caller implements Disposable {
  readonly #agent: Agent;
  readonly #port: number;
  readonly #sockets = new Set<unknown>();

  /** Whether the latest connection resumed the TLS session of the previous one. */
  resumed = false;

  /** @param keepAlive - `false` opens a connection for each request */
  constructor(port: number, shown?: KeyPair, keepAlive = true) {
    this.#port = port;
    this.#agent = new Agent({
      keepAlive,
      maxSockets: 1,
      rejectUnauthorized: false,
      ...(shown && { cert: shown.certificate, key: shown.key }),
    });
  }

  /** Number of connections so far. */
  get connections(): number {
    return this.#sockets.size;
  }

  async status(): Promise<number> {
    const outgoing = request({ host: "127.0.0.1", port: this.#port, path: "/pods", agent: this.#agent });
    outgoing.on("socket", (socket) => this.#sockets.add(socket));
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    this.resumed = (response.socket as TLSSocket).isSessionReused();
    response.resume();
    await once(response, "end");
    return response.statusCode ?? 0;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

async function statusOf(port: number, shown?: KeyPair): Promise<number> {
  using caller = new Caller(port, shown);
  return await caller.status();
}

test("a client certificate of any authority of the bundle counts; a server's, another authority's and none do not", async () => {
  const [first, second, stranger] = [
    createCertificateAuthority("first"),
    createCertificateAuthority("second"),
    createCertificateAuthority("first"),
  ];
  await using server = await startServer(new ChangingCa(`${first.certificate}${second.certificate}`));

  expect(await statusOf(server.port, clientOf(first))).toBe(200);
  expect(await statusOf(server.port, clientOf(second))).toBe(200);
  expect(await statusOf(server.port, clientOf(stranger))).toBe(401);
  expect(await statusOf(server.port, first.issue({ commonName: "ann", usages: ["server auth"] }))).toBe(401);
  expect(
    await statusOf(
      server.port,
      first.issue({ commonName: "ann", usages: ["client auth"], validity: { notBeforeMs: 0, notAfterMs: systemClock.now() - 1_000 } }),
    ),
  ).toBe(401);
  expect(await statusOf(server.port)).toBe(401);
});

test("without a client CA no certificate counts", async () => {
  await using server = await startServer(new ChangingCa(undefined));

  expect(await statusOf(server.port, clientOf(createCertificateAuthority("any")))).toBe(401);
});

test("an authority that is taken away takes those who are connected, on the connection they have", async () => {
  const [old, next] = [createCertificateAuthority("old"), createCertificateAuthority("next")];
  const ca = new ChangingCa(old.certificate);
  await using server = await startServer(ca);
  using caller = new Caller(server.port, clientOf(old));
  expect(await caller.status()).toBe(200);

  ca.replace(next.certificate);

  expect(await caller.status()).toBe(401);
  expect(caller.connections).toBe(1);
  expect(await statusOf(server.port, clientOf(old))).toBe(401);
  expect(await statusOf(server.port, clientOf(next))).toBe(200);
});

test("an authority that is taken away takes those who are connected and have asked for nothing yet", async () => {
  const old = createCertificateAuthority("old");
  const ca = new ChangingCa(old.certificate);
  await using server = await startServer(ca);
  const { certificate, key } = clientOf(old);
  const socket = connect({ host: "127.0.0.1", port: server.port, cert: certificate, key, rejectUnauthorized: false });
  // With TLS 1.3 the client finishes first; the server still has to read the certificate.
  await once(socket, "secureConnect");
  await delay(100);

  ca.replace(createCertificateAuthority("next").certificate);

  socket.write("GET /pods HTTP/1.1\r\nHost: x\r\n\r\n");
  const [answer] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
});

test("an authority that comes late lets in who comes again: a refusal ended the connection", async () => {
  const late = createCertificateAuthority("late");
  const ca = new ChangingCa(undefined);
  await using server = await startServer(ca);
  using caller = new Caller(server.port, clientOf(late));
  expect(await caller.status()).toBe(401);

  ca.replace(late.certificate);

  expect(await caller.status()).toBe(200);
  expect(caller.connections).toBe(2);
});

test("a TLS session from before is worth nothing once its authority is taken away", async () => {
  const old = createCertificateAuthority("old");
  const ca = new ChangingCa(old.certificate);
  await using server = await startServer(ca);
  using caller = new Caller(server.port, clientOf(old), false);
  expect([await caller.status(), caller.resumed]).toEqual([200, false]);
  expect([await caller.status(), caller.resumed]).toEqual([200, true]);

  ca.replace(createCertificateAuthority("next").certificate);

  expect([await caller.status(), caller.resumed]).toEqual([401, false]);
});
