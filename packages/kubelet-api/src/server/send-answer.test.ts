import { VirtualClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { duplexPair } from "node:stream";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { fakeNode, fakePod } from "../test-support/fake-node.ts";
import { readToEnd, TestServer } from "../test-support/test-server.ts";
import { refuseOnSocket } from "./send-answer.ts";

/** Produces the container's output. */
let logs: () => AsyncIterable<string | Uint8Array>;
let server: TestServer;
const request = "GET /containerLogs/default/web/main HTTP/1.1\r\nHost: x\r\n\r\n";

beforeAll(async () => {
  const provider = { getContainerLogs: async () => ({ data: logs() }) };
  server = await TestServer.open({ nodes: [fakeNode({ pods: [fakePod()], provider })] });
});

afterAll(() => server[Symbol.asyncDispose]());

test("the head of the answer is sent at once, even if the log is silent", async () => {
  logs = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) });
  const socket = await server.connect();
  socket.write(request);

  expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 OK\r\ncontent-type: text\/plain; charset=utf-8\r\n/);
  socket.destroy();
});

test("an answer is sent in chunks, with an end", async () => {
  logs = async function* () {
    yield* ["one\n", Buffer.from("two\n"), "three\n"];
  };

  expect(await server.get("/containerLogs/default/web/main")).toMatchObject({ status: 200, text: "one\ntwo\nthree\n" });
});

test("the end of an answer comes in a TLS record of its own", async () => {
  logs = async function* () {
    yield "one\n";
    yield "two\n";
  };
  const socket = await server.connect();
  // Each event is one TLS record.
  const records: string[] = [];
  socket.on("data", (record) => records.push(String(record)));
  socket.write(request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
  await once(socket, "close");

  expect(records.slice(1).join("")).toBe("4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n");
  expect(records.at(-1)).toBe("0\r\n\r\n");
});

test("no more is read than the client accepts", async () => {
  const block = Buffer.alloc(65_536, "x");
  const wanted = 1_000;
  let produced = 0;
  logs = async function* () {
    for (; produced < wanted; produced++) yield block;
  };
  const socket = await server.connect();
  socket.pause();
  socket.write(request);
  // Sent data is kept in the sockets' buffers, so reading stops long before the end.
  let before = -1;
  await vi.waitFor(
    () => {
      const halted = produced > 0 && produced === before;
      before = produced;
      expect(halted).toBe(true);
    },
    { interval: 100, timeout: 30_000 },
  );
  expect(produced).toBeLessThan(wanted);

  let bytes = 0;
  socket.on("data", (chunk: Buffer) => (bytes += chunk.length)).resume();

  await vi.waitFor(() => expect(bytes).toBeGreaterThan(wanted * block.length), { timeout: 60_000 });
  socket.destroy();
});

test("a client that disconnects without reading ends the body's iteration", async () => {
  let isOver = false;
  logs = async function* () {
    try {
      for (;;) yield Buffer.alloc(65_536, "x");
    } finally {
      isOver = true;
    }
  };
  const socket = await server.connect();
  socket.pause();
  socket.write(request);
  await vi.waitFor(() => expect(server.access.asked.length).toBeGreaterThan(0));

  socket.destroy();

  await vi.waitFor(() => expect(isOver).toBe(true), { timeout: 30_000 });
});

test("after an answer, its connection accepts the next request", async () => {
  logs = async function* () {
    yield "line\n";
  };
  const socket = await server.connect();
  socket.write(request + request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));

  expect((await readToEnd(socket)).match(/line\n/g)).toHaveLength(2);
});

test("a refused connection that is closed leaves no timer", async () => {
  const clock = new VirtualClock();
  const [, connection] = duplexPair();
  refuseOnSocket(connection, { status: 400, body: "no" }, clock);
  expect(clock.pending).toBe(1);

  connection.destroy();
  await once(connection, "close");

  expect(clock.pending).toBe(0);
});
