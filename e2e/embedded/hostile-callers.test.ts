import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { AttackedServer, dataFrame, resetFrame, SpdyAttack } from "./support/attacker.ts";

/** Maximum heap of the server's process; it starts with 24 MiB in use. */
const heapMiB = 64;

/** Each measurement triggers a garbage collection in the process, which takes longer the more it holds. */
const patiently = { interval: 500, timeout: 150_000 };

/** Another caller reads a log during the attack. */
const otherLog = "/containerLogs/ns-39/pod-39/main";

test("4,096 streams with 15 KiB of headers each, half a megabyte compressed, leave the server's heap as it was", async () => {
  await using server = await AttackedServer.start({ heapMiB });
  const { socket, head } = await server.upgrade("tenant", "/portForward/ns-0/pod-0");
  expect(head).toContain("101 Switching Protocols");
  const spdy = new SpdyAttack();

  for (let index = 0; index < 4_096; index++) {
    const headers = { streamtype: "error", port: "80", requestid: String(index), "x-fill": "y".repeat(15_000) };
    if (!socket.write(spdy.open(2 * index + 1, headers))) await new Promise((resolve) => socket.once("drain", resolve));
  }
  await expect
    .poll(async () => (await server.usage()).warnings, patiently)
    .toContainEqual(expect.objectContaining({ limit: "maxStreams" }));

  expect((await server.usage()).heapMiB).toBeLessThan(40);
  expect(await server.log("other", otherLog)).toBe("200 a line");
});

test("streams of many sessions are refused before they fill the heap, and another caller forwards all the same", async () => {
  await using server = await AttackedServer.start({ heapMiB });
  for (let session = 0; session < 20; session++) {
    const { socket } = await server.upgrade("tenant", `/portForward/ns-0/pod-${session}`);
    const spdy = new SpdyAttack();
    const open = (index: number): Buffer =>
      spdy.open(2 * index + 1, { streamtype: "data", port: "80", requestid: "1".repeat(200) + index });
    socket.write(Buffer.concat(Array.from({ length: 512 }, (_, index) => open(index))));
  }
  await expect
    .poll(async () => (await server.usage()).warnings, patiently)
    .toContainEqual(expect.objectContaining({ limit: "maxSharedStreams" }));

  const { socket } = await server.upgrade("tenant", "/portForward/ns-1/pod-0");
  socket.write(new SpdyAttack().forward(0, 80));

  await expect.poll(async () => (await server.usage()).dials, patiently).toBe(1);
  expect((await server.usage()).heapMiB).toBeLessThan(48);
  expect(await server.log("other", otherLog)).toBe("200 a line");
});

test("bytes that nobody reads, on every stream of many sessions, wait in the clients and not in the server", async () => {
  await using server = await AttackedServer.start({ heapMiB });
  const before = (await server.usage()).rssMiB;
  let takenBytes = 0;
  const block = Buffer.alloc(65_536);
  const flood = async (socket: TLSSocket): Promise<void> => {
    const spdy = new SpdyAttack();
    // Port 80 does not read its input.
    for (let index = 0; index < 16; index++) socket.write(spdy.forward(index, 80));
    for (let round = 0; round < 256; round++) {
      await new Promise((resolve) => socket.write(dataFrame(4 * (round % 16) + 3, block), resolve));
      takenBytes += block.length;
    }
  };
  const floods: Promise<void>[] = [];
  for (let session = 0; session < 60; session++)
    floods.push(flood((await server.upgrade("tenant", `/portForward/ns-${session % 4}/pod-${session % 40}`)).socket));
  const seen: number[] = [];
  await expect
    .poll(
      async () => {
        await server.usage();
        seen.unshift(takenBytes);
        return seen.length > 10 && seen[0] === seen[10];
      },
      { ...patiently, interval: 50 },
    )
    .toBe(true);

  expect((await server.usage()).rssMiB - before).toBeLessThan(200);
  expect(await server.log("other", otherLog)).toBe("200 a line");
});

/** Opens forwards to a port one after the other and resets each once it has been dialled, so that the server works for nobody. */
async function openAndReset(socket: TLSSocket, port: number, count: number): Promise<void> {
  const spdy = new SpdyAttack();
  const reset = (index: number): Buffer => Buffer.concat([resetFrame(4 * index + 1), resetFrame(4 * index + 3)]);
  const lag = 50;
  for (let index = 0; index < count + lag; index++) {
    const frames = [...(index < count ? [spdy.forward(index, port)] : []), ...(index >= lag ? [reset(index - lag)] : [])];
    await new Promise((resolve) => socket.write(Buffer.concat(frames), resolve));
  }
  // When the last forward is dialled, the server has handled all earlier ones.
  socket.write(spdy.forward(count, 82));
}

test("two thousand forwards that are opened and reset leave no dial behind", async () => {
  await using server = await AttackedServer.start({ heapMiB });
  const { socket } = await server.upgrade("tenant", "/portForward/ns-0/pod-0");

  await openAndReset(socket, 80, 2_000);

  await expect.poll(async () => (await server.usage()).dials, patiently).toBe(1);
  expect((await server.usage()).heapMiB).toBeLessThan(48);
  expect(await server.log("other", otherLog)).toBe("200 a line");
});

test("dials that heed no signal are bounded by session and caller, and another caller forwards all the same", async () => {
  await using server = await AttackedServer.start({ heapMiB });
  for (let session = 0; session < 4; session++) {
    const { socket } = await server.upgrade("tenant", `/portForward/ns-0/pod-${session}`);
    await openAndReset(socket, 81, 400);
  }
  await expect.poll(async () => (await server.usage()).dials, patiently).toBe(512);

  const { socket } = await server.upgrade("tenant", "/portForward/ns-1/pod-0");
  socket.write(new SpdyAttack().forward(0, 80));

  await expect.poll(async () => (await server.usage()).dials, patiently).toBe(513);
  expect((await server.usage()).heapMiB).toBeLessThan(48);
  expect(await server.log("other", otherLog)).toBe("200 a line");
});

test("a thousand forwards whose pods send without an end, and whose clients read nothing, stay within 128 MiB", async () => {
  await using server = await AttackedServer.start({ heapMiB });
  const before = (await server.usage()).rssMiB;
  for (let session = 0; session < 10; session++) {
    const { socket } = await server.upgrade("tenant", `/portForward/ns-${session}/pod-0`);
    const spdy = new SpdyAttack();
    socket.write(Buffer.concat(Array.from({ length: 256 }, (_, index) => spdy.forward(index, 82))));
  }
  // Each of the ten callers gets only the sessions that the others leave free, so the limit of 1,024 is never quite reached.
  await expect.poll(async () => (await server.usage()).dials, patiently).toBeGreaterThan(900);

  expect((await server.usage()).rssMiB - before).toBeLessThan(128);
  expect(await server.log("other", otherLog)).toBe("200 a line");
});

/** Query of an exec with input and output. */
const sh = "input=1&output=1&command=sh";

test("a tenant's idle execs, as many as there are streams, lock nobody else out of logs or execs", async () => {
  await using server = await AttackedServer.start({ heapMiB, limits: { maxStreams: 400 } });
  const heads: string[] = [];
  const exec = async (pod: number): Promise<void> => {
    const { socket, head } = await server.upgrade("kube-apiserver", `/exec/ns-0/pod-${pod % 40}/main?${sh}`);
    heads.push(head);
    socket.write(new SpdyAttack().exec());
  };
  for (let count = 0; count < 400; count += 10) await Promise.all(Array.from({ length: 10 }, (_, index) => exec(count + index)));
  await expect.poll(async () => (await server.usage()).running, patiently).toBe(350);
  expect(heads.filter((head) => head.includes(" 503 "))).toHaveLength(50);

  const follower = await server.request("GET", `${otherLog}?follow=true`, ["X-User: kube-apiserver"]);
  const { socket, head } = await server.upgrade("kube-apiserver", `/exec/ns-1/pod-0/main?${sh}`);
  socket.write(new SpdyAttack().exec());

  expect([follower.head, head]).toEqual([expect.stringContaining(" 200 "), expect.stringContaining(" 101 ")]);
  expect(await server.log("kube-apiserver", otherLog)).toBe("200 a line");
  // As many as before, plus the followed log, for which one of the tenant's sessions made room.
  await expect.poll(async () => (await server.usage()).running, patiently).toBe(351);
});

test.each([
  ["have ended, and whose clients do not close", true],
  ["have not begun, because their clients open no streams", false],
])("a tenant's commands that %s lock nobody else out of execs, and are cut off", async (_which, opensStreams) => {
  await using server = await AttackedServer.start({ heapMiB, limits: { maxStreams: 80 } });
  const begin = async (): Promise<{ readonly head: string; readonly socket: TLSSocket }> => {
    const begun = await server.upgrade("kube-apiserver", "/exec/ns-0/pod-0/main?input=1&output=1&command=true");
    begun.socket.resume();
    if (opensStreams) begun.socket.write(new SpdyAttack().exec());
    return begun;
  };
  const begun = await Promise.all(Array.from({ length: 70 }, begin));
  expect(begun.filter(({ head }) => head.includes(" 101 "))).toHaveLength(70);

  const { socket, head } = await server.upgrade("kube-apiserver", `/exec/ns-1/pod-0/main?${sh}`);
  socket.write(new SpdyAttack().exec());

  expect(head).toContain(" 101 ");
  const { warnings } = await server.usage();
  expect(warnings).toContainEqual(expect.objectContaining({ pod: "ns-0/pod-0", message: expect.stringMatching(/^a stream is evicted/) }));
  await expect.poll(() => begun.filter((each) => each.socket.closed).length, patiently).toBe(1);
});

test("a tenant's followed logs, as many as there are streams and not read, lock nobody else out of theirs", async () => {
  await using server = await AttackedServer.start({ heapMiB, limits: { maxStreams: 320 } });
  const follow = (pod: number): Promise<unknown> =>
    server.request("GET", `/containerLogs/ns-0/pod-${pod % 40}/main?follow=true`, ["X-User: kube-apiserver"]);
  for (let count = 0; count < 320; count += 10) await Promise.all(Array.from({ length: 10 }, (_, index) => follow(count + index)));
  await expect.poll(async () => (await server.usage()).running, patiently).toBe(320);

  for (let count = 0; count < 20; count++) expect(await server.log("kube-apiserver", otherLog)).toBe("200 a line");

  expect((await server.usage()).warnings).toContainEqual(
    expect.objectContaining({ limit: "maxStreams", pod: expect.stringMatching(/^ns-0\//) }),
  );
});
