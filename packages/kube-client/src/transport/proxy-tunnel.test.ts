import { systemClock } from "@virtual-kubelet/clock";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { expect, test } from "vitest";
import { throughProxy } from "./proxy-tunnel.ts";

/** A proxy that says what it is asked, and answers what it is told to. */
async function proxyThat(answer: (socket: Socket) => void): Promise<AsyncDisposable & { readonly url: URL; readonly asked: string[] }> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", (bytes) => {
      asked.push(bytes.toString());
      answer(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    asked,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Opens a tunnel, of which no server is to be reached with TLS. */
function open(proxy: URL, hostname: string, port = "", timeoutMs = 30_000, protocol = "http:"): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const connect = throughProxy(() => reject(new Error("TLS was not asked for")), {
    proxy,
    tls: {},
    timeoutMs,
    keepAliveDelayMs: 30_000,
    clock: systemClock,
  });
  connect({ protocol, hostname, port }, (error, socket) => (error ? reject(error) : resolve(socket)));
  return promise;
}

test("what the server says at once is not lost", async () => {
  await using proxy = await proxyThat((socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nhello"));

  const socket = await open(proxy.url, "api");
  const first = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
  socket.destroy();

  expect(first.toString()).toBe("hello");
});

test.each([
  ["api", "", "api:80"],
  ["api", "8080", "api:8080"],
  ["[fd00::1]", "8080", "[fd00::1]:8080"],
])("a tunnel to %s %s is asked for as %s", async (hostname, port, address) => {
  await using proxy = await proxyThat((socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n"));

  (await open(proxy.url, hostname, port)).destroy();

  expect(proxy.asked[0]).toMatch(`CONNECT ${address} HTTP/1.1\r\n`);
  expect(proxy.asked[0]).toMatch(`host: ${address}\r\n`);
});

test.each([
  ["HTTP/1.1 403 Forbidden\r\n\r\n", "it answered CONNECT api:6443 with 403 Forbidden, expected 200"],
  ["HTTP/1.1 302\r\n\r\n", "it answered CONNECT api:6443 with 302, expected 200"],
])("an answer that is none of success is an error: %j", async (answer, problem) => {
  await using proxy = await proxyThat((socket) => socket.end(answer));

  await expect(open(proxy.url, "api", "6443")).rejects.toThrow(new Error(`proxy http://${proxy.url.host}: ${problem}`));
});

test("a tunnel to a server with TLS is one to port 443 where its URL names none", async () => {
  await using proxy = await proxyThat((socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));

  await expect(open(proxy.url, "api", "", 30_000, "https:")).rejects.toThrow("it answered CONNECT api:443 with 403");
});

test("a SOCKS proxy is offered a password only where its URL has one", async () => {
  await using proxy = await proxyThat((socket) => socket.end());
  for (const user of ["", "ann:secret@"]) await open(new URL(`socks5://${user}${proxy.url.host}`), "api").catch((error: unknown) => error);

  // Version 5 and the ways to log in: 0 is none, 2 is a password.
  expect(proxy.asked).toEqual(["\u0005\u0001\u0000", "\u0005\u0002\u0000\u0002"]);
});

test("a proxy that does not answer is given up", async () => {
  await using proxy = await proxyThat(() => {});

  await expect(open(proxy.url, "api", "6443", 20)).rejects.toThrow("no answer to CONNECT api:6443 in 0.02 s");
});

test("a proxy that answers a byte at a time is given up as well", async () => {
  await using proxy = await proxyThat((socket) => {
    const bytes = Array.from("HTTP/1.1 200 OK\r\nx-wait: ");
    const timer = setInterval(() => socket.write(bytes.shift() ?? "x"), 5);
    socket.once("close", () => clearInterval(timer));
  });

  await expect(open(proxy.url, "api", "6443", 50)).rejects.toThrow("no answer to CONNECT api:6443 in 0.05 s");
});

test.each(["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\nx: y\r\n\r\n".repeat(3)])(
  "interim answers are passed over, also where they are cut: %j",
  async (interim) => {
    const answer = `${interim}HTTP/1.1 200 OK\r\nx: y\r\n\r\nhello`;
    for (const cut of [answer.length, interim.length, interim.length + 10, answer.length - 7]) {
      await using proxy = await proxyThat((socket) => {
        socket.setNoDelay(true).write(answer.slice(0, cut));
        setImmediate(() => socket.write(answer.slice(cut)));
      });

      const socket = await open(proxy.url, "api");
      let said = "";
      socket.on("data", (bytes: Buffer) => (said += bytes.toString()));
      while (said.length < 5) await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();

      expect(said).toBe("hello");
    }
  },
);

test.each([
  ["HTTP/1.1 403 Forbidden\r\n\r\n", "it answered CONNECT api:6443 with 403 Forbidden, expected 200"],
  ["SSH-2.0-OpenSSH\r\n\r\n", "what follows its interim answer is no answer of HTTP"],
  [" ".repeat(20_000), "what follows its interim answer is no answer of HTTP"],
  ["", "it hung up after an interim answer"],
])("behind an interim answer %# is an error", async (answer, problem) => {
  await using proxy = await proxyThat((socket) => socket.end(`HTTP/1.1 100 Continue\r\n\r\n${answer}`));

  await expect(open(proxy.url, "api", "6443")).rejects.toThrow(problem);
});

test("a proxy that goes silent after an interim answer is given up", async () => {
  await using proxy = await proxyThat((socket) => socket.write("HTTP/1.1 100 Continue\r\n\r\n"));

  await expect(open(proxy.url, "api", "6443", 50)).rejects.toThrow("no answer to CONNECT api:6443 in 0.05 s");
});

test("a proxy that hangs up, or speaks something else, is an error", async () => {
  for (const answer of ["", "SSH-2.0-OpenSSH\r\n"]) {
    await using proxy = await proxyThat((socket) => socket.end(answer));

    await expect(open(proxy.url, "api")).rejects.toThrow(`proxy http://${proxy.url.host}: `);
  }
});
