import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { connectPort, joinConnection } from "./port-connection.ts";

const { signal } = new AbortController();

test("a client that has said all still gets the whole answer", async () => {
  const [client, stream] = duplexPair();
  const [connection, pod] = duplexPair();
  const joined = joinConnection(stream, connection, signal);

  client.end("hello");
  expect(await text(pod)).toBe("hello");
  pod.end("and goodbye");
  expect(await text(client)).toBe("and goodbye");
  await joined;
  expect(connection.destroyed).toBe(true);
});

test("what breaks one side breaks the other off", async () => {
  const [, stream] = duplexPair();
  const [connection] = duplexPair();
  const joined = joinConnection(stream, connection, signal);

  connection.destroy(new Error("the program has ended"));
  await expect(joined).rejects.toThrow("the program has ended");
  expect(stream.destroyed).toBe(true);
});

test("an abort destroys both, and its reason is thrown", async () => {
  const [, stream] = duplexPair();
  const [connection] = duplexPair();
  const abort = new AbortController();
  const joined = joinConnection(stream, connection, abort.signal);

  abort.abort(new Error("the client is gone"));
  await expect(joined).rejects.toThrow("the client is gone");
  expect([stream.destroyed, connection.destroyed]).toEqual([true, true]);
});

test("a caller that has aborted already joins nothing, and neither side is left open", async () => {
  const [, stream] = duplexPair();
  const [connection] = duplexPair();

  await expect(joinConnection(stream, connection, AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
  expect([stream.destroyed, connection.destroyed]).toEqual([true, true]);
});

test("a connection that has ended is left alone by a later abort", async () => {
  const [client, stream] = duplexPair();
  const [connection, pod] = duplexPair();
  const abort = new AbortController();
  const joined = joinConnection(stream, connection, abort.signal);
  client.end();
  pod.end();
  client.resume();
  pod.resume();
  await joined;
  let destroyed = 0;
  connection.destroy = () => (destroyed++, connection);

  abort.abort();

  expect(destroyed).toBe(0);
});

test("a port is connected to before it is given out, and either side may end first", async () => {
  const server = createServer({ allowHalfOpen: true }, (peer) => void text(peer).then((said) => peer.end(`${said}, too`)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const { port } = server.address() as AddressInfo;

    const socket = await connectPort("127.0.0.1", port, signal);
    expect(socket.pending).toBe(false);
    socket.end("hello");

    expect(await text(socket)).toBe("hello, too");
  } finally {
    server.close();
  }
});

test("a port that refuses says so, and a caller that has aborted is told its reason", async () => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");

  await expect(connectPort("127.0.0.1", port, signal)).rejects.toThrow("ECONNREFUSED");
  await expect(connectPort("127.0.0.1", port, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  const abort = new AbortController();
  const connecting = connectPort("127.0.0.1", port, abort.signal);
  abort.abort(new Error("changed my mind"));
  await expect(connecting).rejects.toThrow("changed my mind");
});
