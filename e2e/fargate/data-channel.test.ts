import { DescribeTasksCommand, ExecuteCommandCommand, RegisterTaskDefinitionCommand, RunTaskCommand } from "@aws-sdk/client-ecs";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, expect, test } from "vitest";
import type { ScriptedSession } from "../support/container-host/run-script.ts";
import { decodeMessage, encodeMessage, payloadTypes } from "./fake/exec/agent-message.ts";
import type { SessionScript } from "./fake/exec/agent-session.ts";
import type { OpenedSession } from "./fake/exec/session-server.ts";
import { ChannelClient } from "./support/channel-client.ts";
import { definitionOf, openRig, runRequest, type Rig } from "./support/rig.ts";

// The agent's side of Session Manager's data channel, as session-manager-plugin meets it.

const opened: (Disposable | AsyncDisposable)[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await (Symbol.asyncDispose in each ? each[Symbol.asyncDispose]() : each[Symbol.dispose]());
});

/** Runs a command that is scripted, as far as its channel's address. */
async function execute(
  work: (command: readonly string[], session: ScriptedSession) => Promise<number>,
  script: SessionScript = {},
): Promise<{ readonly rig: Rig; readonly session: OpenedSession }> {
  const rig = await openRig({ script: () => ({ exec: work }) });
  opened.push(rig);
  rig.aws.sessions.script = script;
  await rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf()));
  const { tasks } = await rig.ecs.send(new RunTaskCommand(runRequest({ enableExecuteCommand: true })));
  await rig.clock.advance(20_000);
  const answer = await rig.ecs.send(new ExecuteCommandCommand({ task: tasks?.[0]?.taskArn, command: "cat 'a b'", interactive: true }));
  const { sessionId = "", streamUrl = "", tokenValue = "" } = answer.session ?? {};
  return { rig, session: { sessionId, streamUrl, tokenValue } };
}

async function open(session: OpenedSession, changes: object = {}): Promise<ChannelClient> {
  const client = await ChannelClient.open(session, changes);
  opened.push(client);
  return client;
}

const handshake = (client: ChannelClient): Promise<void> =>
  eventually(() => expect(client.messages[0]?.payloadType).toBe(payloadTypes.handshakeRequest));

test("a message has the layout of session-manager-plugin, with the halves of its id swapped", () => {
  const bytes = encodeMessage({
    type: "output_stream_data",
    sequence: 1,
    flags: 2n,
    id: "00112233-4455-6677-8899-aabbccddeeff",
    createdAtMs: 3,
    payloadType: 1,
    payload: Buffer.from("payload"),
  });
  expect(bytes.toString("hex")).toBe(
    [
      "00000074",
      "6f75747075745f73747265616d5f6461746120202020202020202020202020 20".replace(" ", ""),
      "00000001",
      "0000000000000003",
      "0000000000000001",
      "0000000000000002",
      "8899aabbccddeeff",
      "0011223344556677",
      "239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5",
      "00000001",
      "00000007",
      "7061796c6f6164",
    ].join(""),
  );
  expect(decodeMessage(bytes)).toMatchObject({ type: "output_stream_data", id: "00112233-4455-6677-8899-aabbccddeeff" });
});

test("a command gets its words, input and size, and its output ends with channel_closed", async () => {
  const { rig, session } = await execute(async (command, { stream, size }) => {
    const [input] = await new Promise<readonly unknown[]>((resolve) => stream.once("data", (...args: unknown[]) => resolve(args)));
    stream.write(`${JSON.stringify(command)} ${String(input)} ${JSON.stringify(size())}`);
    return 0;
  });
  const client = await open(session);
  await handshake(client);
  client.shakeHands();
  client.send(payloadTypes.size, Buffer.from(JSON.stringify({ cols: 100, rows: 30 })));
  client.send(payloadTypes.output, Buffer.from("words"));
  expect(await client.closed()).toEqual([1000, ""]);
  expect(client.output.toString("utf8")).toBe('["cat","a b"] words {"columns":100,"rows":30}');
  expect(client.messages.map(({ payloadType }) => payloadType)).toContain(payloadTypes.handshakeComplete);
  expect(client.messages.at(-1)?.type).toBe("channel_closed");
  expect([rig.aws.sessions.sessions[0]?.problems, rig.aws.sessions.problems]).toEqual([[], []]);
});

test("each input is acknowledged, and input out of order is put in order", async () => {
  const { session } = await execute(async (_command, { stream }) => {
    let text = "";
    for await (const chunk of stream) if ((text += String(chunk)).length === 3) break;
    stream.write(text);
    return 0;
  });
  const client = await open(session);
  await handshake(client);
  client.shakeHands();
  for (const [sequence, text] of [
    [3, "c"],
    [1, "a"],
    [1, "a"],
    [2, "b"],
  ] as const)
    client.send(payloadTypes.output, Buffer.from(text), sequence);
  await client.closed();
  const acknowledged = client.messages
    .filter(({ type }) => type === "acknowledge")
    .map(({ payload }) => (JSON.parse(String(payload)) as Record<string, unknown>)["AcknowledgedMessageSequenceNumber"]);
  expect(acknowledged).toEqual([0, 3, 1, 1, 2]);
});

test("output that is not acknowledged is sent again", async () => {
  const { rig, session } = await execute(async () => 0);
  const client = await open(session);
  client.acknowledges = false;
  await handshake(client);
  await rig.clock.advance(450);
  await eventually(() => expect(client.messages.map(({ sequence }) => sequence)).toEqual([0, 0, 0]));
  client.acknowledges = true;
});

test("output can be lost, repeated and out of order on its way, and is cut within characters", async () => {
  const { rig, session } = await execute(
    async (_command, { stream }) => {
      stream.write("ä€😀".repeat(20));
      return 0;
    },
    { chunkBytes: 5, reorders: true, repeats: true, losesOutgoing: (count) => count % 3 === 1 },
  );
  const client = await open(session);
  await handshake(client);
  client.shakeHands();
  const closed = client.closed();
  await eventually(async () => {
    await rig.clock.advance(200);
    expect(client.output.toString("utf8")).toBe("ä€😀".repeat(20));
  });
  await closed;
  const outputs = client.messages.filter(({ payloadType }) => payloadType === payloadTypes.output);
  expect(outputs.map(({ payload }) => payload.toString("utf8")).join("")).toContain("\u{fffd}");
  expect(outputs.some(({ sequence }, index) => sequence < (outputs[index - 1]?.sequence ?? 0))).toBe(true);
});

test.each([false, true])("the exit code comes in a message of its own, if the agent is to send it: %s", async (sendsExitCode) => {
  const { session } = await execute(async () => 42, { sendsExitCode });
  const client = await open(session);
  await handshake(client);
  client.shakeHands();
  await client.closed();
  const codes = client.messages
    .filter(({ payloadType }) => payloadType === payloadTypes.exitCode)
    .map(({ payload }) => payload.toString("utf8"));
  expect(codes).toEqual(sendsExitCode ? ["EXIT_CODE: 42"] : []);
});

test("a session that is terminated ends its command; one whose connection is cut does not", async () => {
  const streams: ScriptedSession["stream"][] = [];
  const { session } = await execute(async (_command, { stream }) => {
    streams.push(stream);
    return new Promise<never>(() => {});
  });
  for (const isTerminated of [false, true]) {
    const client = await open(session);
    await handshake(client);
    client.shakeHands();
    await eventually(() => expect(streams).toHaveLength(isTerminated ? 2 : 1));
    const closed = client.closed();
    if (isTerminated) client.send(payloadTypes.flag, Buffer.from([0, 0, 0, 2]));
    else client[Symbol.dispose]();
    await closed;
  }

  await eventually(() => expect(streams.map(({ writableEnded }) => writableEnded)).toEqual([false, true]));
});

test("a connection can be cut without a close frame", async () => {
  const { session } = await execute(
    async (_command, { stream }) => {
      stream.write("x".repeat(5000));
      return new Promise(() => {});
    },
    { cutAfterBytes: 2000 },
  );
  const client = await open(session);
  await handshake(client);
  client.shakeHands();
  expect((await client.closed())[0]).toBe(1006);
});

test("a client that refuses the handshake is told why its channel is closed", async () => {
  const { session } = await execute(async () => 0);
  const client = await open(session);
  await handshake(client);
  client.shakeHands(3);
  await client.closed();
  expect(String(client.messages.at(-1)?.payload)).toContain("Handshake with client failed");
});

test("a client that sends while it is paused, or damaged messages, is found out", async () => {
  const { rig, session } = await execute(async () => new Promise(() => {}), { pauses: true });
  const client = await open(session);
  await handshake(client);
  client.shakeHands();
  await eventually(() => expect(client.messages.map(({ type }) => type)).toContain("pause_publication"));
  client.send(payloadTypes.output, Buffer.from("x"));
  const damaged = encodeMessage({
    type: "input_stream_data",
    sequence: 9,
    flags: 0n,
    id: "00112233-4455-6677-8899-aabbccddeeff",
    createdAtMs: 0,
    payloadType: 1,
    payload: Buffer.from("x"),
  });
  damaged.write("y", damaged.length - 1);
  client.sendRaw(damaged);
  const [agent] = rig.aws.sessions.sessions;
  await eventually(() =>
    expect(agent?.problems).toEqual(["the client sent input while it was paused", "Error: the digest is not the payload's SHA-256"]),
  );
  agent?.resume();
  await eventually(() => expect(client.messages.at(-1)?.type).toBe("start_publication"));
});

test.each<[string, object, string]>([
  ["a wrong token", { TokenValue: "other" }, "TokenValue is not the session's"],
  ["no version", { ClientVersion: undefined }, "ClientVersion is no version of four numbers"],
  ["another schema", { MessageSchemaVersion: "2.0" }, "MessageSchemaVersion is not 1.0"],
])("a channel that is opened with %s is closed", async (_what, changes, problem) => {
  const { rig, session } = await execute(async () => 0);
  const client = await open(session, changes);
  expect(await client.closed()).toEqual([1008, problem]);
  expect(rig.aws.sessions.problems).toEqual([problem]);
});

test("commands need a running agent, interactive mode, and a container's name if there are several", async () => {
  const rig = await openRig();
  opened.push(rig);
  await rig.ecs.send(new RegisterTaskDefinitionCommand(definitionOf({}, { name: "a", image: "x" }, { name: "b", image: "x" })));
  const run = async (enableExecuteCommand: boolean): Promise<string> => {
    const { tasks } = await rig.ecs.send(new RunTaskCommand(runRequest({ enableExecuteCommand })));
    await rig.clock.advance(2000);
    return tasks?.[0]?.taskArn ?? "";
  };
  const ask = (task: string, changes: object = {}): Promise<unknown> =>
    rig.ecs.send(new ExecuteCommandCommand({ task, container: "a", command: "true", interactive: true, ...changes }));
  const without = await run(false);
  const task = await run(true);
  await expect(ask(task)).rejects.toThrow("the execute command agent isn't running");
  await rig.clock.advance(20_000);
  const { tasks } = await rig.ecs.send(new DescribeTasksCommand({ tasks: [task] }));
  expect(tasks?.[0]?.containers?.[0]?.managedAgents).toMatchObject([{ name: "ExecuteCommandAgent", lastStatus: "RUNNING" }]);
  await ask(task);
  await expect(ask(without)).rejects.toThrow("execute command was not enabled");
  await expect(ask(task, { container: undefined })).rejects.toThrow("A container name is required");
  await expect(ask(task, { interactive: false })).rejects.toThrow("Interactive is the only mode");
});
