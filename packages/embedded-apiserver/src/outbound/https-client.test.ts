import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { bodyText, HttpsClient, type HttpsTarget } from "./https-client.ts";

/** A server that answers its first requests, and then breaks the connections of others. */
class BreakingServer implements AsyncDisposable {
  readonly server: Server;
  readonly target: HttpsTarget;
  received = 0;

  private constructor(server: Server, caPem: string) {
    this.server = server;
    this.target = { url: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`), caPem };
  }

  static async start(answered: number): Promise<BreakingServer> {
    const validity = { notBeforeMs: Date.now() - 1000, notAfterMs: Date.now() + 3_600_000 };
    const authority = createCertificateAuthority("test-ca", validity);
    const { certificate, key } = authority.issue({ commonName: "test", names: ["127.0.0.1"], usages: ["server auth"], validity });
    const server = createServer({ cert: certificate, key }, (request, response) => {
      started.received++;
      if (started.received > answered) request.socket.destroy();
      else response.end("ok");
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const started = new BreakingServer(server, authority.certificate);
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, "close");
  }
}

const body = Buffer.from("{}");

async function send(client: HttpsClient, { target }: BreakingServer, method: string): Promise<string> {
  return await bodyText(await client.send(target, { method, headers: {}, body: method === "POST" ? body : undefined }));
}

test("a request that changes something is not repeated when its reused connection breaks", async () => {
  await using server = await BreakingServer.start(1);
  using client = new HttpsClient();
  expect(await send(client, server, "POST")).toBe("ok");
  await expect(send(client, server, "POST")).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(server.received).toBe(2);
});

test("a request that only reads is repeated on a new connection, but not a second time", async () => {
  await using server = await BreakingServer.start(1);
  using client = new HttpsClient();
  expect(await send(client, server, "GET")).toBe("ok");
  await expect(send(client, server, "GET")).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(server.received).toBe(3);
});

test("a connection that the server has closed meanwhile is not used", async () => {
  await using server = await BreakingServer.start(100);
  using client = new HttpsClient();
  for (let round = 0; round < 20; round++) {
    expect(await send(client, server, "POST")).toBe("ok");
    server.server.closeIdleConnections();
  }
  expect(server.received).toBe(20);
});

test("idle connections to servers with many authorities are closed", async () => {
  await using server = await BreakingServer.start(100);
  using client = new HttpsClient();
  for (let index = 0; index < 60; index++) {
    // A comment makes another authority of it, as far as the client knows.
    const target = { ...server.target, caPem: `# ${index}\n${server.target.caPem ?? ""}` };
    await bodyText(await client.send(target, { method: "GET", headers: {} }));
  }

  await expect
    .poll(() => new Promise<number>((resolve) => server.server.getConnections((_error, count) => resolve(count))))
    .toBeLessThanOrEqual(51);
});
