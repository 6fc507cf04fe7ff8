import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Of proxies over TLS: its own authority, for the name `localhost` and the address 127.0.0.1. Worth nothing anywhere else. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZ0bIhQPUIqX4fwm2
pDmhIEnTQLxJ1zlXrraLh6y7meChRANCAASO+4Ke25heBQOPFZTHKMrURc/FXf/5
aYPCAwu92gwgk+jOnDBVASTA0E8+VyHsNMylqQfX8k6JGX8T1NudGWCx
-----END PRIVATE KEY-----`;

/** The authority to believe for a proxy over TLS. */
export const proxyCertificate = `-----BEGIN CERTIFICATE-----
MIIBcTCCARegAwIBAgIBATAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5sb29wYmFj
ayBwcm94eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGTEXMBUG
A1UEAwwObG9vcGJhY2sgcHJveHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASO
+4Ke25heBQOPFZTHKMrURc/FXf/5aYPCAwu92gwgk+jOnDBVASTA0E8+VyHsNMyl
qQfX8k6JGX8T1NudGWCxo04wTDAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGC
CWxvY2FsaG9zdIcEfwAAATAdBgNVHQ4EFgQUdEaDvxalf6wXftdrv51mRP+ri2Ew
CgYIKoZIzj0EAwIDSAAwRQIgePHMhaUm3x+mXPcJMu/9QdE6eg8LOMZA1GJ0pVo6
7kkCIQCvWzt517eEDdQvtfsaZO/7kGtnEZItoSgCgLtz3iSq7A==
-----END CERTIFICATE-----`;

/** Whom a proxy lets through. */
export interface ProxyUser {
  readonly username: string;
  readonly password: string;
}

/** A proxy on loopback. It leads every address to one port, so that servers may have any name. */
export class LoopbackProxy implements AsyncDisposable {
  /** Addresses that tunnels were asked for, as `host:port`. */
  readonly asked: string[] = [];
  /** Tunnels that are open. */
  readonly tunnels: Set<Socket> = new Set();
  readonly #server: Server;
  readonly #protocol: string;
  readonly #sockets = new Set<Socket>();

  private constructor(protocol: string, server: Server) {
    this.#protocol = protocol;
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {});
    });
    // Who does not believe the proxy goes away in the middle of the handshake.
    server.on("tlsClientError", () => {});
  }

  /** A proxy that is asked with CONNECT. */
  static async http(to: number, options: { readonly tls?: boolean; readonly user?: ProxyUser } = {}): Promise<LoopbackProxy> {
    const { tls, user } = options;
    const server = tls ? createHttpsServer({ key, cert: proxyCertificate }) : createHttpServer();
    const proxy = new LoopbackProxy(tls ? "https" : "http", server);
    const expected = user && `Basic ${Buffer.from(`${user.username}:${user.password}`).toString("base64")}`;
    server.on("connect", (request: IncomingMessage, socket: Socket) => {
      proxy.asked.push(request.url ?? "");
      if (request.headers["proxy-authorization"] !== expected) return socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      proxy.#join(socket, to, () => socket.write("HTTP/1.1 200 Connection established\r\n\r\n"));
    });
    return proxy.#listen();
  }

  /** A proxy that speaks SOCKS 5. Source: RFC 1928 and 1929. */
  static async socks(to: number, user?: ProxyUser): Promise<LoopbackProxy> {
    const server: Server = createServer((socket) => void proxy.#serveSocks(socket, to, user).catch(() => socket.destroy()));
    const proxy = new LoopbackProxy("socks5", server);
    return proxy.#listen();
  }

  /** Its URL. @param credentials - such as `user:password@` */
  url(credentials = "", host = "127.0.0.1"): string {
    return `${this.#protocol}://${credentials}${host}:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  #join(socket: Socket, to: number, onOpen: () => void): void {
    const onward = connect(to, "127.0.0.1", () => {
      onOpen();
      socket.pipe(onward).pipe(socket);
    });
    this.tunnels.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.tunnels.delete(socket);
      onward.destroy();
    });
    onward.on("close", () => socket.destroy());
    onward.on("error", () => socket.destroy());
  }

  async #serveSocks(socket: Socket, to: number, user: ProxyUser | undefined): Promise<void> {
    const [, methods = 0] = await take(socket, 2);
    const method = user ? 2 : 0;
    socket.write(Buffer.from([5, (await take(socket, methods)).includes(method) ? method : 255]));
    if (user) {
      await take(socket, 1);
      const given = [await takeText(socket), await takeText(socket)];
      const isKnown = given[0] === user.username && given[1] === user.password;
      socket.write(Buffer.from([1, isKnown ? 0 : 1]));
      if (!isKnown) return void socket.end();
    }
    const [, , , type = 0] = await take(socket, 4);
    const host = type === 3 ? await takeText(socket) : [...(await take(socket, 4))].join(".");
    this.asked.push(`${host}:${(await take(socket, 2)).readUInt16BE()}`);
    this.#join(socket, to, () => socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])));
  }
}

/** A text with its length before it. */
async function takeText(socket: Socket): Promise<string> {
  const [length = 0] = await take(socket, 1);
  return (await take(socket, length)).toString();
}

/** The next so many bytes. */
async function take(socket: Socket, count: number): Promise<Buffer> {
  for (;;) {
    const bytes: unknown = socket.read(count);
    if (Buffer.isBuffer(bytes) && bytes.length === count) return bytes;
    if (socket.readableEnded || socket.destroyed) throw new Error("the client has left");
    await new Promise<void>((resolve) => {
      const done = (): void => {
        for (const event of ["readable", "end", "close"]) socket.off(event, done);
        resolve();
      };
      for (const event of ["readable", "end", "close"]) socket.on(event, done);
    });
  }
}
