import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  acceptPortForward,
  openPortForward,
  type PortForwardSession,
  proxyUpgrade,
  relayPortForward,
  UpgradeRefusedError,
} from "@virtual-kubelet/streaming";
import { eventually } from "@virtual-kubelet/testing";
import { describe, expect, test } from "vitest";
import { clock, digestOf, megabytes, serveTcp, serveUpgrades, type UpgradeServer } from "./support/streaming-rig.ts";

/** Server that forwards to loopback, as a kubelet does to a pod. */
function serveForwards(seen: PortForwardSession[] = []): Promise<UpgradeServer> {
  return serveUpgrades(async (upgrade) => {
    const session = await acceptPortForward(upgrade, { clock });
    seen.push(session);
    for await (const { port, stream, fail } of session.connections) {
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      socket.once("connect", () => {
        pipeline(stream, socket).catch(() => undefined);
        pipeline(socket, stream).catch(() => undefined);
      });
      socket.once("error", (error) => {
        if (socket.connecting || socket.bytesRead + socket.bytesWritten === 0)
          fail(`error forwarding port ${port} to pod p, uid : ${error.message}`);
      });
      stream.once("close", () => void socket.destroy());
    }
  });
}

/** Echoes its input after the client has ended it, and then ends the connection. */
function answerAtEnd(socket: Socket): void {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => void chunks.push(chunk));
  socket.once("end", () => socket.end(`got ${Buffer.concat(chunks).toString()}`));
}

async function textOf(stream: Readable): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

describe.each(["spdy", "websocket"] as const)("port-forward over %s", (transport) => {
  test("carries the ends of both directions", async () => {
    await using pod = await serveTcp(answerAtEnd);
    await using server = await serveForwards();
    await using client = await openPortForward({ url: server.url }, { transport, clock });

    const stream = await client.open(pod.port);
    stream.end("hello");

    expect(await textOf(stream)).toBe("got hello");
  });

  test("carries 20 MB each way unchanged", async () => {
    await using pod = await serveTcp((socket) => void pipeline(socket, socket).catch(() => undefined));
    await using server = await serveForwards();
    await using client = await openPortForward({ url: server.url }, { transport, clock });
    const expected = await digestOf(megabytes(20));

    const stream = await client.open(pod.port);
    const [digest] = await Promise.all([digestOf(stream), pipeline(Readable.from(megabytes(20)), stream as NodeJS.WritableStream)]);

    expect(digest).toBe(expected);
  });

  test("tells why a port cannot be reached, and goes on for others", async () => {
    await using pod = await serveTcp(answerAtEnd);
    await using server = await serveForwards();
    await using client = await openPortForward({ url: server.url }, { transport, clock });

    const refused = await client.open(1);
    await eventually(() => expect(refused.closed).toBe(true));
    const stream = await client.open(pod.port);
    stream.end("x");

    expect(refused.errored?.message).toContain("error forwarding port 1 to pod p, uid : connect ECONNREFUSED");
    expect(await textOf(stream)).toBe("got x");
  });

  test("leaves nothing of a thousand streams opened and closed", async () => {
    const sockets = new Set<Socket>();
    await using pod = await serveTcp((socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      answerAtEnd(socket);
    });
    const sessions: PortForwardSession[] = [];
    await using server = await serveForwards(sessions);
    await using client = await openPortForward({ url: server.url }, { transport, clock });
    const one = async (index: number): Promise<string> => {
      const stream = await client.open(pod.port);
      stream.end(String(index));
      return textOf(stream);
    };

    for (let batch = 0; batch < 20; batch++) {
      const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => one(batch * 50 + index)));
      expect(answers).toEqual(Array.from({ length: 50 }, (_, index) => `got ${batch * 50 + index}`));
    }

    await eventually(() => expect(sockets.size).toBe(0));
    await client.close();
    await eventually(() => expect(server.sockets.size).toBe(0));
    expect(sessions.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test("drops the pod's connections when its client dies", async () => {
    const sockets = new Set<Socket>();
    await using pod = await serveTcp((socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      socket.resume().once("end", () => void socket.end());
    });
    await using server = await serveForwards();
    let raw: Socket | undefined;
    const { port } = new URL(server.url);
    const client = await openPortForward(
      { url: server.url, connect: () => (raw = connect(Number(port), "127.0.0.1")) },
      { transport, clock },
    );
    const stream = await client.open(pod.port);
    stream.write("x");
    await eventually(() => expect(sockets.size).toBe(1));

    raw?.destroy();

    await eventually(() => expect(sockets.size).toBe(0));
    await client.closed;
    await expect(client.open(pod.port)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
  });

  test("goes through a proxy that copies bytes", async () => {
    await using pod = await serveTcp(answerAtEnd);
    await using kubelet = await serveForwards();
    await using server = await serveUpgrades((upgrade) => proxyUpgrade(upgrade, { url: kubelet.url }, { clock }));
    await using client = await openPortForward({ url: server.url }, { transport, clock });

    const stream = await client.open(pod.port);
    stream.end("hello");

    expect(await textOf(stream)).toBe("got hello");
    await client.close();
    await eventually(() => expect([kubelet.sockets.size, server.sockets.size]).toEqual([0, 0]));
  });
});

test("port-forward within a WebSocket is joined with a kubelet's SPDY as an API server does", async () => {
  await using pod = await serveTcp(answerAtEnd);
  const sessions: PortForwardSession[] = [];
  await using kubelet = await serveForwards(sessions);
  await using server = await serveUpgrades((upgrade) => relayPortForward(upgrade, { url: kubelet.url }, { clock }));
  await using client = await openPortForward({ url: server.url }, { transport: "websocket", clock });

  const stream = await client.open(pod.port);
  stream.end("hello");

  expect(await textOf(stream)).toBe("got hello");
  expect(sessions.map(({ transport }) => transport)).toEqual(["spdy"]);
  await client.close();
  await eventually(() => expect([kubelet.sockets.size, server.sockets.size]).toEqual([0, 0]));
});

test("a kubelet's refusal reaches a client within a WebSocket as it is", async () => {
  await using kubelet = await serveUpgrades(({ socket }) => {
    socket.end("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 18\r\n\r\npod does not exist");
    return Promise.resolve();
  });
  await using server = await serveUpgrades((upgrade) => relayPortForward(upgrade, { url: kubelet.url }, { clock }));

  const error: unknown = await openPortForward({ url: server.url }, { transport: "websocket", clock }).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(UpgradeRefusedError);
  expect(error).toMatchObject({ statusCode: 404, code: "VK_NOT_FOUND", body: "pod does not exist" });
});

test.each(["v4.channel.k8s.io", "v4.base64.channel.k8s.io", ""])(
  "a WebSocket of the older form forwards a port each, as %j",
  async (protocol) => {
    await using pod = await serveTcp((socket) => socket.once("data", (chunk: Buffer) => socket.end(`got ${chunk.toString()}`)));
    await using server = await serveForwards();
    const webSocket = new WebSocket(`${server.url.replace("http", "ws")}/?port=${pod.port},1`, protocol === "" ? [] : [protocol]);
    webSocket.binaryType = "arraybuffer";
    const channels = new Map<number, string>();
    webSocket.addEventListener("message", ({ data }) => {
      const bytes = typeof data === "string" ? Buffer.from(data.slice(1), "base64") : Buffer.from(data as ArrayBuffer).subarray(1);
      const channel = typeof data === "string" ? Number(data[0]) : Buffer.from(data as ArrayBuffer).readUInt8();
      channels.set(channel, (channels.get(channel) ?? "") + bytes.toString("latin1"));
    });
    const closed = once(webSocket, "close") as Promise<[CloseEvent]>;
    await once(webSocket, "open");

    webSocket.send(protocol.includes("base64") ? `0${Buffer.from("hi").toString("base64")}` : Buffer.from("\0hi"));
    const [{ code }] = await closed;

    const port = Buffer.from([pod.port & 0xff, pod.port >> 8]).toString("latin1");
    expect(code).toBe(1000);
    expect(channels.get(0)).toBe(`${port}got hi`);
    expect(channels.get(1)).toBe(port);
    expect(channels.get(2)).toBe("\x01\0");
    expect(channels.get(3)).toContain("error forwarding port 1 to pod p, uid : connect ECONNREFUSED");
  },
);

test("a WebSocket of the older form that names no port is refused in a kubelet's words", async () => {
  await using server = await serveForwards();
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write(
    "GET /portForward/ns/p HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n",
  );

  const answer = await textOf(socket);

  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer).toMatch(/\r\n\r\nquery parameter "port" is required\n$/);
});
