import { getClient } from "@azure-rest/core-client";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, test } from "vitest";
import { Connections } from "./connections.ts";

test("the error of a request does not show the connections", async () => {
  using connections = new Connections();
  const client = getClient("http://127.0.0.1:9", {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [connections.policy],
  });

  const error: unknown = await client
    .pathUnchecked("/")
    .get()
    .then(undefined, (reason: unknown) => reason);
  expect(error).toMatchObject({ code: "ECONNREFUSED", request: { url: expect.stringContaining("127.0.0.1:9") } });
  expect((error as { readonly request: { readonly agent?: unknown } }).request.agent).toBeUndefined();
});

test("requests share a connection, which is closed when the connections are disposed, and not opened again", async () => {
  const sockets: Socket[] = [];
  const server = createServer((_request, response) => response.end("{}"));
  server.on("connection", (socket) => sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const connections = new Connections();
    const client = getClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      allowInsecureConnection: true,
      additionalPolicies: [connections.policy],
    });
    for (let count = 0; count < 2; count++) await client.pathUnchecked("/").get();
    expect(sockets).toHaveLength(1);

    const closed = once(sockets[0] as Socket, "close");
    connections[Symbol.dispose]();
    await closed;
    await expect(client.pathUnchecked("/").get()).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
    expect(sockets).toHaveLength(1);
  } finally {
    server.close();
  }
});
