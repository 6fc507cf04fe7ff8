import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { beforeEach, describe, expect, test } from "vitest";
import { FakeAgent } from "../../test-support/fake-agent.ts";
import { DataChannel, type ChannelEvent } from "./data-channel.ts";
import { payloadTypes } from "./message.ts";

let agent: FakeAgent;
let clock: VirtualClock;
let channel: DataChannel;
const { signal } = new AbortController();

beforeEach(() => {
  agent = new FakeAgent(new SeededRandom(1));
  clock = new VirtualClock();
  channel = new DataChannel({ socket: agent.socket, clock, random: new SeededRandom(2), tokenValue: "token-1" });
});

async function all(): Promise<ChannelEvent[]> {
  const events: ChannelEvent[] = [];
  for await (const event of channel.events()) events.push(event);
  return events;
}

const text = (events: readonly ChannelEvent[]): string =>
  events.map((event) => (event.kind === "output" ? Buffer.from(event.bytes).toString() : "")).join("");

test("the channel is opened with the token, and the handshake answered", async () => {
  agent.greet();
  agent.output("hello");
  agent.end("done");

  expect((await all()).map(({ kind }) => kind)).toEqual(["ready", "output", "closed"]);
  expect(JSON.parse(agent.texts[0] ?? "")).toEqual({
    MessageSchemaVersion: "1.0",
    RequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    TokenValue: "token-1",
    ClientId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    ClientVersion: "1.2.0.0",
  });
  expect(agent.inputs[0]).toMatchObject({ type: "input_stream_data", sequence: 0, flags: 1, payloadType: payloadTypes.handshakeResponse });
  expect(agent.acknowledged).toEqual([0, 1, 2]);
});

test("output that arrives out of order or twice is put in order, and acknowledged once", async () => {
  agent.send(payloadTypes.output, "c", 2);
  agent.send(payloadTypes.output, "a", 0);
  agent.send(payloadTypes.output, "a", 0);
  agent.send(payloadTypes.output, "b", 1);
  agent.end();

  expect(text(await all())).toBe("abc");
  expect(agent.acknowledged).toEqual([2, 0, 1]);
});

test("errors and exit codes are told apart from output", async () => {
  agent.send(payloadTypes.output, "out");
  agent.send(payloadTypes.stderr, "err");
  agent.send(payloadTypes.exitCode, "17");
  agent.send(payloadTypes.exitCode, Buffer.from([0, 0, 0, 5]));
  agent.end();

  expect((await all()).filter(({ kind }) => kind !== "ready")).toMatchObject([
    { kind: "output", stream: "stdout" },
    { kind: "output", stream: "stderr" },
    { kind: "exit", code: 17 },
    { kind: "exit", code: 5 },
    { kind: "closed", message: "bye" },
  ]);
});

test("input goes in pieces of at most 1,024 bytes, in order", async () => {
  agent.greet();
  const reading = all();
  const input = Buffer.from("x".repeat(2_500));
  await channel.write(input, signal);
  channel.resize({ width: 80, height: 24 });
  channel.terminate();
  agent.end();
  await reading;

  const sent = agent.inputs.filter(({ payloadType }) => payloadType === payloadTypes.output);
  expect(sent.map(({ payload }) => payload.byteLength)).toEqual([1024, 1024, 452]);
  expect(agent.inputs.map(({ sequence }) => sequence)).toEqual([...agent.inputs.keys()]);
  expect(agent.inputs.find(({ payloadType }) => payloadType === payloadTypes.size)?.payload.toString()).toBe('{"cols":80,"rows":24}');
  expect(agent.inputs.find(({ payloadType }) => payloadType === payloadTypes.flag)?.payload).toEqual(Buffer.from([0, 0, 0, 2]));
});

test("input that is not acknowledged is sent again, unchanged", async () => {
  agent.confirms = false;
  agent.greet();
  const reading = all();
  await channel.write(Buffer.from("once"), signal);
  await clock.advance(1_000);
  const repeated = agent.inputs.filter(({ sequence }) => sequence === 0);
  for (const message of agent.inputs) agent.confirm(message);
  await clock.advance(100);
  const count = agent.inputs.length;
  await clock.advance(10_000);
  agent.end();
  await reading;

  expect(repeated.length).toBeGreaterThan(2);
  expect(new Set(repeated.map(({ id }) => id)).size).toBe(1);
  expect(agent.inputs.length).toBe(count);
});

test("a slow other side stops the input", async () => {
  agent.confirms = false;
  agent.greet();
  const reading = all();
  let isWritten = false;
  const writing = channel.write(Buffer.alloc(100 * 1024), signal).then(() => (isWritten = true));
  await clock.advance(1);

  expect(isWritten).toBe(false);
  expect(new Set(agent.inputs.map(({ sequence }) => sequence)).size).toBeLessThanOrEqual(65);

  agent.confirms = true;
  for (const message of agent.inputs) agent.confirm(message);
  await clock.advance(2_000);
  await writing;
  agent.end();
  await reading;
  expect(isWritten).toBe(true);
});

test("publication can be paused and started again", async () => {
  agent.greet();
  agent.push("pause_publication", { payloadType: 0, payload: Buffer.alloc(0), sequence: 0 });
  const reading = all();
  await clock.advance(1);
  const writing = channel.write(Buffer.from("later"), signal);
  await clock.advance(10);
  const before = agent.inputs.filter(({ payloadType }) => payloadType === payloadTypes.output).length;
  agent.push("start_publication", { payloadType: 0, payload: Buffer.alloc(0), sequence: 0 });
  await clock.advance(1);
  await writing;
  agent.end();
  await reading;

  expect(before).toBe(0);
  expect(agent.inputs.filter(({ payloadType }) => payloadType === payloadTypes.output)).toHaveLength(1);
});

describe("it fails", () => {
  test("if the connection ends before the session", async () => {
    agent.greet();
    agent.close();

    await expect(all()).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
  });

  test("if the session is to be encrypted", async () => {
    agent.greet([{ ActionType: "KMSEncryption", ActionParameters: {} }]);

    await expect(all()).rejects.toMatchObject({ code: "VK_UNSUPPORTED" });
  });

  test("if the other side never acknowledges", async () => {
    agent.confirms = false;
    agent.greet();
    const reading = all().catch((error: unknown) => error);
    await clock.advance(4_000_000);

    expect(await reading).toMatchObject({
      code: "VK_UNAVAILABLE",
      message: expect.stringContaining("does not confirm any input") as string,
    });
  });
});

test("the connection is kept alive", async () => {
  agent.greet();
  const reading = all();
  await clock.advance(900_000);
  agent.end();
  await reading;

  expect(agent.pings).toBe(3);
});

test("frames that cannot be read, and messages of unknown types, are passed over", async () => {
  agent.push("news", { payloadType: 0, payload: Buffer.from("?"), sequence: 0 });
  agent.push("acknowledge", { payloadType: 0, payload: Buffer.from("?"), sequence: 0 });
  agent.output("a");
  agent.end();

  expect(text(await all())).toBe("a");
});
