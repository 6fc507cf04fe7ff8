import { systemClock, VirtualClock } from "@virtual-kubelet/clock";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import { connect as connectPlain, createServer, type AddressInfo, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { gunzipSync } from "node:zlib";
import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import type { Provider } from "@virtual-kubelet/core";
import { openPortForward, runRemoteCommand } from "@virtual-kubelet/streaming";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { fakeNode, fakePod } from "../test-support/fake-node.ts";
import { issueServing, OpenAccess, readToEnd, ReplaceableCertificate, testAuthority, TestServer } from "../test-support/test-server.ts";
import { startKubeletServer } from "./kubelet-server.ts";

const head = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const upgradeHead = (path: string, to = "SPDY/3.1"): string => head(path, `Connection: Upgrade\r\nUpgrade: ${to}\r\n`);

/** Requests to `/runningpods` wait until it resolves. */
let gate = Promise.withResolvers<void>();
/** Reasons why requests to `/runningpods` ended. */
const ended: string[] = [];

/** A node whose list of running pods is returned when the gate opens, or when the request is aborted. */
function waitingNode() {
  return fakeNode({
    pods: [fakePod()],
    getPods: async (signal) => {
      const aborted = new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          ended.push(messageOf(signal.reason));
          resolve();
        });
      });
      await Promise.race([gate.promise, aborted]);
      return { pods: [], complete: true };
    },
  });
}

/** Bytes that a plain connection receives until it is closed. */
async function readPlain(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("error", () => {}).on("data", (chunk: Buffer) => chunks.push(chunk));
  if (!socket.closed) await once(socket, "close");
  return Buffer.concat(chunks);
}

let server: TestServer;

beforeAll(async () => {
  server = await TestServer.open({ nodes: [waitingNode()] });
});

afterAll(async () => {
  gate.resolve();
  await server[Symbol.asyncDispose]();
});

beforeEach(() => {
  gate = Promise.withResolvers();
  ended.length = 0;
  server.access.asked.length = 0;
  server.access.callers.length = 0;
  server.access.gate = Promise.resolve();
});

describe("a connection", () => {
  test("uses HTTP/1.1, whatever else the client offers", async () => {
    const socket = await server.connect({ ALPNProtocols: ["h2", "http/1.1"] });

    expect(socket.alpnProtocol).toBe("http/1.1");
    socket.destroy();
  });

  test("is kept open for two minutes for the next request", async () => {
    const socket = await server.connect();
    for (let round = 0; round < 2; round++) {
      socket.write(head("/healthz"));
      expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 OK\r\n.*^Keep-Alive: timeout=120\r\n/ms);
    }
    socket.destroy();
  });

  test("is accepted only on the configured address", async () => {
    // All of 127.0.0.0/8 is this machine. On systems where it is not, nobody listens there either.
    await expect(once(connectPlain(server.port, "127.0.0.2"), "connect")).rejects.toThrow();
  });

  test("is accepted on all addresses if none is configured", async () => {
    await using everywhere = await TestServer.open({ host: "" });

    expect(await everywhere.get("/healthz")).toMatchObject({ status: 200, text: "ok" });
  });

  test("without TLS gets no answer, and is logged", async () => {
    const socket = connectPlain(server.port, "127.0.0.1");
    socket.write(head("/healthz"));

    expect((await readPlain(socket)).toString("latin1")).not.toContain("200");
    expect(server.logger.lines).toContain("info a TLS handshake failed");
    expect(server.logger.fields).toContainEqual({ code: "ERR_SSL_HTTP_REQUEST", address: "127.0.0.1" });
  });

  test("that fails in every possible way leaves room in the log for messages about limits", async () => {
    await using limited = await TestServer.open({ limits: { maxUnauthorizedPerAddress: 1 } });
    const hello = Buffer.from(`160301003f0100003b0303${"00".repeat(32)}000002c02b01000010000a000400020017000d000400020403`, "hex");
    const alerts = [10, 20, 21, 22, 30, 40, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 60, 70, 71, 80, 86, 90, 100, 110, 112, 113, 114, 115];
    for (const alert of alerts) {
      const socket = connectPlain(limited.port, "127.0.0.1").on("error", () => {});
      socket.end(Buffer.concat([hello, Buffer.from([0x15, 3, 3, 0, 2, 2, alert])])).resume();
      await once(socket, "close");
    }

    expect(limited.logger.lines.length).toBeGreaterThan(16);
    await limited.connect();
    await limited.connect();

    expect(limited.logger.fields).toContainEqual(expect.objectContaining({ limit: "maxUnauthorizedPerAddress" }));
  });

  test("with a TLS version before 1.2 is refused", async () => {
    const hello = `0302${"00".repeat(32)}000004002f00350100`;
    const handshake = `010000${(hello.length / 2).toString(16).padStart(2, "0")}${hello}`;
    const socket = connectPlain(server.port, "127.0.0.1");
    socket.write(Buffer.from(`160301${(handshake.length / 2).toString(16).padStart(4, "0")}${handshake}`, "hex"));

    const alert = await readPlain(socket);

    // Fatal: protocol_version.
    expect([alert[0], alert[5], alert[6]]).toEqual([21, 2, 70]);
  });

  test.each([
    ["AES128-SHA", {}, false],
    ["AES256-GCM-SHA384", {}, false],
    ["ECDHE-RSA-AES128-SHA", {}, false],
    ["ECDHE-ECDSA-AES128-SHA", {}, false],
    ["ECDHE-ECDSA-AES128-GCM-SHA256", {}, true],
    ["ECDHE-ECDSA-CHACHA20-POLY1305", {}, true],
    ["ECDHE-ECDSA-AES128-GCM-SHA256", { cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"] }, false],
    ["ECDHE-ECDSA-AES128-SHA", { cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"] }, true],
    ["ECDHE-ECDSA-AES128-GCM-SHA256", { minVersion: "VersionTLS13" }, false],
    ["ECDHE-ECDSA-AES128-GCM-SHA256", { cipherSuites: ["TLS_AES_128_GCM_SHA256"] }, false],
  ] as const)("of TLS 1.2 with %s is accepted under %j: %s", async (ciphers, tls, expected) => {
    await using set = await TestServer.open({ tls });
    const outcome = await set.connect({ maxVersion: "TLSv1.2", ciphers: `${ciphers}:@SECLEVEL=0` }).then(
      (socket) => {
        socket.destroy();
        return true;
      },
      () => false,
    );

    expect(outcome).toBe(expected);
    // The same holds after a change of the certificate, and TLS 1.3 always works.
    set.certificate.replace(issueServing("second"));
    const socket = await set.connect();
    expect(socket.getProtocol()).toBe("TLSv1.3");
    socket.destroy();
    if (!expected) await expect(set.connect({ maxVersion: "TLSv1.2", ciphers: `${ciphers}:@SECLEVEL=0` })).rejects.toThrow();
  });

  test("does not allow renegotiation", async () => {
    const socket = await server.connect({ maxVersion: "TLSv1.2" });

    const outcome = await new Promise((resolve) => {
      socket.once("error", (error: Error & { readonly code?: string }) => resolve(error.code));
      socket.renegotiate({}, (error) => resolve(error === null ? "renegotiated" : error.message));
    });

    expect(outcome).toBe("ERR_SSL_NO_RENEGOTIATION");
    socket.destroy();
  });
});

describe("a client certificate", () => {
  const ann = { commonName: "ann", usages: ["client auth"] } as const;
  const ask = async (client: { readonly certificate?: string; readonly key?: string }): Promise<void> => {
    const socket = await server.connect({ cert: client.certificate, key: client.key });
    socket.write(head("/healthz", "Connection: close\r\n"));
    expect(await readToEnd(socket)).toContain("200 OK");
  };

  test("is requested, and the CA that it was verified with is recorded", async () => {
    await ask(testAuthority.issue(ann));

    expect(server.access.callers).toEqual([{ authorized: true, name: "ann", judgedBy: testAuthority.certificate }]);
  });

  test("that is missing, or of another authority, does not prevent the TLS connection", async () => {
    await ask({});
    await ask(createCertificateAuthority("another").issue(ann));

    expect(server.access.callers).toMatchObject([{ authorized: false }, { authorized: false, name: "ann" }]);
  });

  test("is not verified if the server has no client CA", async () => {
    const certificate = new ReplaceableCertificate({ ...issueServing("bare"), clientCa: undefined });
    await using bare = await TestServer.open({ certificate });
    const socket = await bare.connect({ ...asClient(testAuthority.issue(ann)) });
    socket.write(head("/healthz", "Connection: close\r\n"));
    await readToEnd(socket);

    expect(bare.access.callers).toEqual([{ authorized: false, name: "ann", judgedBy: undefined }]);
  });
});

/** A port that is not in use. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function asClient({ certificate, key }: { readonly certificate: string; readonly key: string }): { cert: string; key: string } {
  return { cert: certificate, key };
}

describe("another serving certificate", () => {
  test("is used for new connections, with its client CA; existing connections keep the CA that they were verified with", async () => {
    await using renewed = await TestServer.open();
    const before = await renewed.connect();
    const other = createCertificateAuthority("other").certificate;

    renewed.certificate.replace({ ...issueServing("second"), clientCa: other });
    const after = await renewed.connect();
    expect(after.getPeerCertificate().subject.CN).toBe("second");
    for (const socket of [before, after]) {
      socket.write(head("/healthz", "Connection: close\r\n"));
      await readToEnd(socket);
    }

    expect(renewed.access.callers.map(({ judgedBy }) => judgedBy)).toEqual([testAuthority.certificate, other]);
    expect(renewed.logger.lines).toEqual(["info the node's server uses a new certificate or client CA"]);
  });

  test("does not change the CA that a connection was verified with, even if the client uses the same port for another connection", async () => {
    await using renewed = await TestServer.open({ host: "" });
    const from = { port: renewed.port, localAddress: "127.0.0.1", localPort: await freePort() };
    const before = await renewed.connect({ socket: connectPlain({ ...from, host: "127.0.0.1" }) });

    renewed.certificate.replace({ ...issueServing("second"), clientCa: createCertificateAuthority("other").certificate });
    const twin = connectPlain({ ...from, host: "127.0.0.2" });
    await once(twin, "connect");
    // The server accepts connections in order.
    await renewed.get("/healthz");
    before.write(head("/healthz", "Connection: close\r\n"));
    await readToEnd(before);
    twin.destroy();

    expect(renewed.access.callers.at(-1)?.judgedBy).toBe(testAuthority.certificate);
  });

  test("that cannot be used is refused, and the previous one stays in use with its client CA", async () => {
    await using renewed = await TestServer.open();

    renewed.certificate.replace({ ...issueServing("third"), key: issueServing("x").key, clientCa: undefined });
    const socket = await renewed.connect();
    expect(socket.getPeerCertificate().subject.CN).toBe("first");
    socket.write(head("/healthz", "Connection: close\r\n"));
    await readToEnd(socket);

    expect(renewed.access.callers).toMatchObject([{ judgedBy: testAuthority.certificate }]);
    expect(renewed.logger.lines).toEqual(["error the node's server keeps its certificate: the new one cannot be used"]);
  });
});

test("nodes that come and go are served while they are in the list, which may be empty at first", async () => {
  const nodes = [fakeNode({ name: "n1" })];
  await using live = await TestServer.open({ nodes });
  expect((await live.get("/nodes/n2/pods")).status).toBe(404);

  nodes.push(fakeNode({ name: "n2" }));

  expect((await live.get("/nodes/n2/pods")).status).toBe(200);
  const access = { accessControl: new OpenAccess(), certificate: new ReplaceableCertificate() };
  await using empty = await startKubeletServer({ ...access, host: "127.0.0.1", port: 0, nodes: [], nodesComeAndGo: true });
  expect(empty.port).toBeGreaterThan(0);
});

describe("a server is not started", () => {
  const options = () => ({ host: "127.0.0.1", port: 0, accessControl: new OpenAccess(), certificate: new ReplaceableCertificate() });

  test("without a node", async () => {
    const error: unknown = await startKubeletServer({ ...options(), nodes: [] }).catch((reason: unknown) => reason);

    expect([isInvalidInput(error), messageOf(error)]).toEqual([true, "start the node's HTTPS server: there are no nodes to serve"]);
  });

  test("with an unknown cipher suite", async () => {
    const starting = startKubeletServer({ ...options(), nodes: [fakeNode()], tls: { cipherSuites: ["TLS_RSA_WITH_RC4_128_SHA"] } });

    await expect(starting).rejects.toThrow(
      "cipher suite TLS_RSA_WITH_RC4_128_SHA is not known; known are TLS_ECDHE_ECDSA_WITH_AES_128_GCM",
    );
  });

  test("with a certificate and the key of another one", async () => {
    const certificate = new ReplaceableCertificate({ ...issueServing("a"), key: issueServing("b").key });

    const error: unknown = await startKubeletServer({ ...options(), certificate, nodes: [fakeNode()] }).catch((reason: unknown) => reason);

    expect([isInvalidInput(error), messageOf(error)]).toEqual([
      true,
      expect.stringContaining("its certificate, key or client CA cannot be used: "),
    ]);
    expect(error).toHaveProperty("cause.code");
  });

  test("on a port that is in use, and leaves nothing open", async () => {
    const certificate = new ReplaceableCertificate();

    const starting = startKubeletServer({ ...options(), certificate, port: server.port, nodes: [fakeNode()] });

    await expect(starting).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(certificate.listening).toBe(0);
  });
});

describe("a request", () => {
  test.each([
    ["GET /pods/%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request", "400: Bad Request: the path has an invalid escape"],
    ["GET /%2e%2e/pods HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request", "400: Bad Request: the path has an invalid segment"],
    [`GET /pods?${"x".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, "414 URI Too Long", "414: URI Too Long"],
    [`GET /pods HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(70_000)}\r\n\r\n`, "431 Request Header Fields Too Large", "431: Request Header"],
    ["BREW /pods HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request", "400: Bad Request"],
    ["\0\0\0\0", "400 Bad Request", "400: Bad Request"],
  ])("that cannot be served gets an error in the answer: %.30s", async (bytes, status, text) => {
    const socket = await server.connect();
    socket.write(bytes, "latin1");
    const [answer] = (await once(socket, "data")) as [Buffer];

    expect(answer.toString("latin1").startsWith(`HTTP/1.1 ${status}\r\n`)).toBe(true);
    expect(answer.toString("latin1")).toContain(text);
    socket.destroy();
  });

  test.each([
    ["GET //", 404],
    ["GET //healthz", 404],
    ["GET ///@[::1", 404],
    ["GET http://[", 400],
    ["GET http://[/healthz", 200],
    ["GET *", 400],
    ["GET /nodes", 404],
    ["GET /nodes/%00/pods", 400],
    ["GET /healthz?exclude=%zz", 400],
    ["OPTIONS *", 400],
  ])("with an unusual target ends at most its own connection: %s", async (line, status) => {
    const answer = await server.raw(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);

    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(await server.get("/healthz")).toMatchObject({ status: 200 });
  });

  test("to upgrade on a path that does not support it is answered like an ordinary request", async () => {
    for (const to of ["websocket", "SPDY/3.1", "h2c"]) {
      const socket = await server.connect();
      socket.write(head("/healthz", `Connection: Upgrade, close\r\nUpgrade: ${to}\r\n`));
      expect(await readToEnd(socket), to).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    }
  });

  test.each([
    ["/exec/default/web/main?output=1&command=ls", "Upgrade request required", ""],
    ["/exec/default/web/main?output=1&command=ls", "missing upgrade headers", "Connection: Upgrade, close\r\nUpgrade: h2c\r\n"],
    ["/attach/default/web/main?output=1", "Upgrade request required", ""],
    ["/portForward/default/web", "Upgrade request required", ""],
  ])("to %s that asks for no protocol, or an unsupported one, is refused: %s", async (path, text, headers) => {
    const socket = await server.connect();
    socket.write(head(path, headers === "" ? "Connection: close\r\n" : headers));

    expect(await readToEnd(socket)).toContain(text);
  });

  test.each(["/exec/default/none/main?output=1&command=ls", "/attach/default/none/main?output=1", "/portForward/default/none?port=80"])(
    "to upgrade for %s is refused on the raw connection, which is then closed, with and without the node's name",
    async (path) => {
      for (const prefix of ["", "/nodes/n1"])
        for (const to of ["SPDY/3.1", "websocket"]) {
          const answer = await server.raw(upgradeHead(`${prefix}${path}`, to));
          expect(answer).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
          expect(answer).toContain("connection: close\r\n");
          expect(answer).toMatch(/\r\ncontent-length: 18\r\n.*\r\n\r\npod does not exist$/s);
        }
    },
  );

  test("whose body is not read closes the connection", async () => {
    const answer = await server.raw("POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx");

    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
  });

  test("that runs a command leaves neither its arguments nor its output in the log, whether it succeeds or not", async () => {
    let exitCode = 0;
    const provider: Partial<Provider> = {
      runInContainer: async (_ref, _container, _command, { stdout }) => {
        stdout?.write("secret output");
        return { exitCode };
      },
    };
    await using running = await TestServer.open({ nodes: [fakeNode({ pods: [fakePod()], provider })] });
    for (exitCode of [0, 1]) {
      expect(await running.get("/run/default/web/main?cmd=mysql+-psecret", { method: "POST" })).toMatchObject({
        status: exitCode === 0 ? 200 : 500,
        text: expect.stringContaining("secret output"),
      });
      const exec = running.target("/exec/default/web/main?output=1&command=mysql&command=-psecret");
      await runRemoteCommand(exec, { clock: systemClock });
    }
    await vi.waitFor(() => expect(running.logger.fields.filter(({ verb }) => verb !== undefined)).toHaveLength(4));

    expect(JSON.stringify([running.logger.fields, running.logger.lines])).not.toContain("secret");
    expect(running.logger.fields).toContainEqual(expect.objectContaining({ program: "mysql", arguments: 1, result: "exit code 1" }));
  });

  test("whose client disconnects is aborted, with the reason", async () => {
    const socket = await server.connect();
    socket.write(head("/runningpods"));
    await vi.waitFor(() => expect(server.access.asked).toHaveLength(1));

    socket.destroy();

    await vi.waitFor(() => expect(ended).toEqual(["the client has disconnected"]));
  });

  test("is not aborted while it is answered", async () => {
    const asked = server.get("/runningpods");
    await vi.waitFor(() => expect(server.access.asked).toHaveLength(1));
    gate.resolve();

    expect(await asked).toMatchObject({ status: 200 });
    expect(ended.filter((reason) => reason !== "the client has disconnected")).toEqual([]);
  });

  test("is one of at most 16 that wait for their answers on one connection", async () => {
    const waiting = Promise.withResolvers<void>();
    server.access.gate = waiting.promise;
    const [modest, greedy] = [await server.connect(), await server.connect()];
    let answers = "";
    modest.setEncoding("latin1").on("data", (text: string) => (answers += text));
    modest.write(head("/healthz").repeat(16));
    await vi.waitFor(() => expect(server.access.callers).toHaveLength(16));

    greedy.write(head("/healthz").repeat(17));
    await once(greedy, "close");
    waiting.resolve();

    await vi.waitFor(() => expect(answers.match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(16));
    expect(server.access.callers.length).toBeLessThanOrEqual(32);
    modest.write(head("/healthz").repeat(16));
    await vi.waitFor(() => expect(answers.match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(32));
    modest.destroy();
  });

  test("to upgrade a connection on which another request is being answered ends both", async () => {
    const socket = await server.connect();
    socket.write(head("/runningpods"));
    await vi.waitFor(() => expect(server.access.asked).toHaveLength(1));

    socket.write(upgradeHead("/exec/default/web/main?output=1&command=ls"));

    expect(await readToEnd(socket)).toBe("");
    await vi.waitFor(() => expect(ended).toEqual(["the client has disconnected"]));
  });
});

describe("limits", () => {
  test("a request may have at most the configured number of headers", async () => {
    await using limited = await TestServer.open({ limits: { maxHeaders: 3 } });

    expect(await limited.raw(head("/healthz", "Connection: close\r\nX: 1\r\n"))).toMatch(/^HTTP\/1\.1 200 /);
    const refused = await limited.raw(head("/healthz", "A: 1\r\nB: 2\r\nC: 3\r\n"));
    expect(refused).toMatch(/^HTTP\/1\.1 431 /);
    expect(refused).toMatch(/\r\nconnection: close\r\n.*431: Request Header Fields Too Large: too many headers\r\n/s);
    expect(limited.access.callers).toHaveLength(1);
  });

  test("the head of a request may have at most the configured size", async () => {
    await using limited = await TestServer.open({ limits: { maxHeaderBytes: 4_096 } });

    expect(await limited.raw(head("/healthz", `X: ${"x".repeat(3_000)}\r\nConnection: close\r\n`))).toMatch(/^HTTP\/1\.1 200 /);
    expect(await limited.raw(head("/healthz", `X: ${"x".repeat(5_000)}\r\n`))).toMatch(/^HTTP\/1\.1 431 /);
  });

  test("an idle connection is kept for the configured time, which the client is told", async () => {
    await using limited = await TestServer.open({ limits: { keepAliveTimeoutMs: 7_000 } });
    const socket = await limited.connect();
    socket.write(head("/healthz"));

    expect(String((await once(socket, "data"))[0])).toContain("\r\nKeep-Alive: timeout=7\r\n");
    socket.destroy();
  });

  test("a request whose head does not arrive in time is answered with 408", async () => {
    await using limited = await TestServer.open({ limits: { headersTimeoutMs: 50 } });

    expect(await limited.raw("GET /healthz HTTP/1.1\r\nX-Slow: ")).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  test("a request whose body does not arrive in time ends the connection, even while its answer is prepared", async () => {
    await using limited = await TestServer.open({ nodes: [waitingNode()], limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 1_500 } });

    expect(await limited.raw(head("/runningpods", "Content-Length: 1000\r\n"))).toBe("");
    await vi.waitFor(() => expect(ended).toEqual(["the client has disconnected"]));
  });

  test("a TLS handshake that does not complete in time is ended", async () => {
    await using limited = await TestServer.open({ limits: { handshakeTimeoutMs: 50 } });

    await readPlain(connectPlain(limited.port, "127.0.0.1"));

    expect(limited.logger.fields).toEqual([{ code: "ERR_TLS_HANDSHAKE_TIMEOUT", address: "127.0.0.1" }]);
  });

  test("if there are too many connections, an unauthorized one is closed first, then one that waits for a request, never one with a request in progress", async () => {
    await using limited = await TestServer.open({ nodes: [waitingNode()], limits: { maxConnections: 3 } });
    const [kept, busy, stranger] = [await limited.connect(), await limited.connect(), await limited.connect()];
    kept.write(head("/healthz"));
    await once(kept, "data");
    busy.write(head("/runningpods"));
    await vi.waitFor(() => expect(limited.access.asked).toHaveLength(2));

    expect(await limited.get("/healthz")).toMatchObject({ status: 200 });
    await readToEnd(stranger);
    const more: TLSSocket[] = [];
    for (const asked of [4, 5]) {
      const socket = await limited.connect();
      more.push(socket);
      socket.write(head("/runningpods"));
      await vi.waitFor(() => expect(limited.access.asked).toHaveLength(asked));
    }
    await readToEnd(kept);
    await expect(limited.get("/healthz")).rejects.toThrow();

    expect(limited.logger.fields).toContainEqual({ limit: "maxConnections", max: 3, address: "127.0.0.1" });
    gate.resolve();
    for (const socket of [busy, ...more]) expect(String((await once(socket, "data"))[0])).toContain("200 OK");
    for (const socket of [busy, ...more]) socket.destroy();
  });

  test("a thousand open connections without an authorized request from one address do not prevent authorized requests from that address", async () => {
    const access = new OpenAccess();
    const authenticate: typeof access.authenticate = async (source, signal) =>
      "authorization" in source.headers ? access.authenticate(source, signal) : undefined;
    await using limited = await TestServer.open({ accessControl: { authenticate, authorize: access.authorize } });
    const refused: TLSSocket[] = [];
    for (let count = 0; count < 1_024; count += 64)
      refused.push(...(await Promise.all(Array.from({ length: 64 }, () => limited.connect()))));

    expect(await limited.get("/healthz", { headers: { authorization: "Bearer x" } })).toMatchObject({ status: 200 });

    // A connection that is not read does not notice its end.
    for (const socket of refused) socket.resume();
    await vi.waitFor(() => expect(refused.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(256));
    expect(limited.logger.fields).toContainEqual({ limit: "maxUnauthorizedPerAddress", max: 256, address: "127.0.0.1" });
    for (const socket of refused) socket.destroy();
  });

  test.each([401, 403])("a %i closes its connection", async (status) => {
    const access = new OpenAccess();
    await using limited = await TestServer.open({
      accessControl: {
        authenticate: async (source, signal) => (status === 401 ? undefined : access.authenticate(source, signal)),
        authorize: async () => ({ allowed: false }),
      },
    });

    const answer = await limited.raw(head("/healthz") + head("/healthz"));

    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
  });

  test("at most the configured number of streams is open at once", async () => {
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    const provider = { getContainerLogs: async () => ({ data: silent }) };
    await using limited = await TestServer.open({ nodes: [fakeNode({ pods: [fakePod()], provider })], limits: { maxStreams: 1 } });
    const first = await limited.connect();
    first.write(head("/containerLogs/default/web/main"));
    await once(first, "data");

    expect(await limited.get("/containerLogs/default/web/main")).toMatchObject({
      status: 503,
      headers: { "retry-after": "5" },
      text: "too many streams are open, at most 1",
    });

    first.destroy();
  });
});

describe("a stream that is evicted", () => {
  const pods = ["web", "db"].map((name) => fakePod({ metadata: { namespace: "default", name, uid: name } }));
  const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };

  test("ends its log with the reason", async () => {
    const provider = { getContainerLogs: async () => ({ data: silent }) };
    await using limited = await TestServer.open({ nodes: [fakeNode({ pods, provider })], limits: { maxStreams: 2 } });
    const sockets = [await limited.connect(), await limited.connect()];
    for (const socket of sockets) {
      socket.write(head("/containerLogs/default/web/main", "Connection: close\r\n"));
      await once(socket, "data");
    }
    const [oldest] = sockets;

    const other = await limited.connect();
    other.write(head("/containerLogs/default/db/main"));

    expect(String((await once(other, "data"))[0])).toContain("200 OK");
    expect(await readToEnd(oldest!)).toContain(
      "evicted: 2 streams are open, and this one was idle for longest among those of the caller who has the most",
    );
    for (const socket of [...sockets, other]) socket.destroy();
  });

  test("ends its command, and its port-forward, with the reason", async () => {
    const abortedBy: string[] = [];
    const untilAborted = async (signal: AbortSignal): Promise<never> => {
      await once(signal, "abort");
      abortedBy.push(messageOf(signal.reason));
      throw signal.reason;
    };
    const provider = {
      runInContainer: (_ref: unknown, _container: unknown, _command: unknown, _io: unknown, signal: AbortSignal) => untilAborted(signal),
      portForward: (_ref: unknown, _port: unknown, _stream: unknown, signal: AbortSignal) => untilAborted(signal),
      getContainerLogs: async () => ({ data: silent }),
    };
    await using limited = await TestServer.open({ nodes: [fakeNode({ pods, provider })], limits: { maxStreams: 2 } });
    const forward = await openPortForward(limited.target("/portForward/default/web"), { transport: "spdy", clock: systemClock });
    await forward.open(80);
    const exec = runRemoteCommand(limited.target("/exec/default/web/main?output=1&command=sh"), {
      clock: systemClock,
      stdout: process.stdout,
    });
    await vi.waitFor(() => expect(limited.access.asked).toHaveLength(2));
    const logs: TLSSocket[] = [];
    const follow = async (): Promise<string> => {
      const socket = await limited.connect();
      logs.push(socket);
      socket.write(head("/containerLogs/default/db/main"));
      return String((await once(socket, "data"))[0]);
    };

    expect(await follow()).toContain("200 OK");
    // Then each of them holds one stream, which is not evicted.
    expect(await follow()).toContain("503 Service Unavailable");

    await vi.waitFor(() => expect(abortedBy).toHaveLength(1));
    if (forward.signal.aborted) await forward.closed;
    else expect(await exec).toMatchObject({ error: expect.stringContaining("evicted: 2 streams") });
    for (const socket of logs) socket.destroy();
  });

  test("is disconnected if its client does not read", async () => {
    const flood = {
      async *[Symbol.asyncIterator]() {
        for (;;) yield Buffer.alloc(65_536);
      },
    };
    const provider = { getContainerLogs: async () => ({ data: flood }) };
    await using limited = await TestServer.open({ nodes: [fakeNode({ pods, provider })], limits: { maxStreams: 2 } });
    const sockets = [await limited.connect(), await limited.connect()];
    for (const socket of sockets) {
      socket.write(head("/containerLogs/default/web/main"));
      await once(socket, "data");
      socket.pause();
    }

    const other = await limited.connect();
    other.write(head("/containerLogs/default/db/main"));

    expect(String((await once(other, "data"))[0])).toContain("200 OK");
    other.destroy();
    // A socket that is not read notices its end only when it is written to.
    await expect
      .poll(() => {
        for (const socket of sockets) if (!socket.destroyed) socket.write("\r\n");
        return sockets.filter(({ destroyed }) => destroyed).length;
      })
      .toBe(1);
    for (const socket of sockets) socket.destroy();
  });
});

describe("gzip", () => {
  const gzip = "Accept-Encoding: gzip\r\nConnection: close\r\n";
  const line = "a line of the log\n".repeat(200);

  /** Head of an answer, and its body with the chunks joined. */
  async function ask(to: TestServer, path: string): Promise<{ readonly head: string; readonly body: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ head: string; body: string }>();
    const { url, tls } = to.target(path);
    httpsRequest(url, { ...tls, agent: false, headers: { "accept-encoding": "gzip" } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const encoding = response.headers["content-encoding"] ?? "none";
        const bytes = Buffer.concat(chunks);
        resolve({ head: encoding, body: String(encoding === "gzip" ? gunzipSync(bytes) : bytes) });
      });
    })
      .on("error", reject)
      .end();
    return promise;
  }

  test("is used for metrics and pods but not for logs, as by a kubelet", async () => {
    async function* lines(): AsyncGenerator<string> {
      yield line;
    }
    const pods = Array.from({ length: 30 }, (_, index) =>
      fakePod({ metadata: { namespace: "default", name: index === 0 ? "web" : `p${index}`, uid: `u${index}` } }),
    );
    const provider = { getContainerLogs: async () => ({ data: lines() }) };
    await using zipped = await TestServer.open({ nodes: [fakeNode({ pods, provider })], renderMetrics: () => "own 1\n".repeat(500) });

    expect(await ask(zipped, "/metrics")).toEqual({ head: "gzip", body: "own 1\n".repeat(500) });
    expect((await ask(zipped, "/pods")).head).toBe("gzip");
    expect(await ask(zipped, "/containerLogs/default/web/main")).toEqual({ head: "none", body: line });
    expect(await ask(zipped, "/containerLogs/default/web/main?follow=true")).toEqual({ head: "none", body: line });
    expect(await zipped.raw(head("/healthz", gzip))).not.toContain("ncoding: gzip");
  });
});

describe("stopping", () => {
  test("ends idle connections, connections without a TLS handshake, and requests in progress, with the reason", async () => {
    const stopped = await TestServer.open({ nodes: [waitingNode()], clock: new VirtualClock() });
    const silent = connectPlain(stopped.port, "127.0.0.1");
    await once(silent, "connect");
    const idle = await stopped.connect();
    const asked = stopped.get("/runningpods").catch((error: unknown) => messageOf(error));
    await vi.waitFor(() => expect(stopped.access.asked).toHaveLength(1));

    await stopped[Symbol.asyncDispose]();

    expect(await asked).toBe("aborted");
    expect(ended[0]).toBe("the node's server is stopping");
    await Promise.all([readPlain(silent), readToEnd(idle)]);
    expect(stopped.certificate.listening).toBe(0);
    await expect(stopped.get("/healthz")).rejects.toThrow("ECONNREFUSED");
  });

  test("waits no longer than the configured time for requests that do not end", async () => {
    const clock = new VirtualClock();
    const stopped = await TestServer.open({ renderMetrics: () => new Promise(() => {}), clock, limits: { shutdownMs: 5_000 } });
    const asked = stopped.get("/metrics").catch((error: unknown) => messageOf(error));
    await vi.waitFor(() => expect(stopped.access.asked).toHaveLength(1));
    let isStopped = false;
    const stopping = stopped[Symbol.asyncDispose]().then(() => (isStopped = true));

    await clock.advance(4_999);
    expect(isStopped).toBe(false);
    await clock.advance(1);

    await stopping;
    expect(await asked).toContain("socket hang up");
  });
});
