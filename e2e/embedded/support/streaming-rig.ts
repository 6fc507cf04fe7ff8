import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import type { IncomingUpgrade } from "@virtual-kubelet/streaming";

export const clock: Clock = systemClock;

/** Server on loopback that passes every upgrade request to a handler. */
export interface UpgradeServer extends AsyncDisposable {
  readonly url: string;
  /** Open sockets. */
  readonly sockets: ReadonlySet<Duplex>;
}

/** Starts a server for upgrade requests. An error of the handler does not end the process. */
export async function serveUpgrades(
  handle: (upgrade: IncomingUpgrade, query: URLSearchParams) => Promise<unknown>,
): Promise<UpgradeServer> {
  const sockets = new Set<Duplex>();
  const server = createServer((_request, response) => void response.writeHead(404).end("no upgrade"));
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (request, socket, head) => {
    const { searchParams } = new URL(request.url ?? "/", "http://server");
    handle({ request, socket, head }, searchParams).catch(() => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** TCP server on loopback with half-open connections. */
export async function serveTcp(handle: (socket: Socket) => void): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
    handle(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Data of some megabytes in chunks, whose content depends on the position. */
export function* megabytes(count: number): Generator<Buffer> {
  for (let index = 0; index < count * 16; index++) {
    const chunk = Buffer.alloc(64 * 1024, index % 251);
    chunk.writeUInt32BE(index);
    yield chunk;
  }
}

/** Digest of a stream's content. */
export async function digestOf(stream: AsyncIterable<Buffer> | Iterable<Buffer> | Readable): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of stream) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
