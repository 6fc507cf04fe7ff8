import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { AttachIO } from "@virtual-kubelet/core";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, test } from "vitest";
import { FakeAgent } from "../test-support/fake-agent.ts";
import { taskArn } from "../test-support/tasks.ts";
import { runCommand } from "./exec-runner.ts";
import { payloadTypes } from "./ssm/message.ts";

let agent: FakeAgent;
let clock: VirtualClock;
let lines: string[];
let stdout: PassThrough;

beforeEach(() => {
  agent = new FakeAgent(new SeededRandom(1));
  clock = new VirtualClock();
  lines = [];
  stdout = new PassThrough();
});

const io = (changes: Partial<AttachIO> = {}): AttachIO => ({
  stdin: undefined,
  stdout,
  stderr: undefined,
  tty: false,
  resizes: (async function* () {})(),
  ...changes,
});

function run(
  command: readonly string[],
  streams: AttachIO,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ exitCode: number }> {
  const api = {
    async executeCommand(_task: string, _container: string, line: string) {
      lines.push(line);
      return { sessionId: "s", streamUrl: "wss://ssmmessages.example/v1", tokenValue: "token" };
    },
  };
  return runCommand(
    { api, clock, random: new SeededRandom(3), openSocket: async () => agent.socket },
    { taskArn, container: "main", command, io: streams },
    signal,
  );
}

const inputText = (): string =>
  agent.inputs
    .filter(({ payloadType }) => payloadType === payloadTypes.output)
    .map(({ payload }) => Buffer.from(payload).toString())
    .join("");
const nonce = (): string => /vk-[0-9a-f-]{36}-/.exec(lines[0] ?? "")?.[0] ?? "no nonce";

describe("without a terminal", () => {
  test("the exit code and the output are the command's, without the terminal's echo and the script's words", async () => {
    agent.onInput = ({ payload }) => {
      if (Buffer.from(payload).toString() !== "\n") return;
      agent.output(`out${nonce()}$42\n`);
    };
    const result = run(["ls", "it's"], io());
    await clock.settle();
    agent.greet();
    agent.output(`echo of the terminal${nonce()}^7\n`);

    expect(await result).toEqual({ exitCode: 42 });
    expect(await text(stdout.end())).toBe("out");
    expect(lines[0]).toMatch(/^sh -c '.*' sh vk-\S+ ls 'it'\\''s'$/s);
  });

  test("input is framed, and its end is told", async () => {
    const result = run(["cat"], io({ stdin: Readable.from([Buffer.from("hello")]) }));
    await clock.settle();
    agent.onInput = () => {
      if (inputText().endsWith("0\n")) agent.output(`${nonce()}$0\n`);
    };
    agent.greet();
    agent.output(`${nonce()}^7\n`);

    expect(await result).toEqual({ exitCode: 0 });
    expect(inputText()).toBe("\n5\nhello0\n");
  });

  test("an image without sh is told", async () => {
    const result = run(["ls"], io());
    await clock.settle();
    agent.greet();
    agent.end('exec: "sh": executable file not found');

    await expect(result).rejects.toMatchObject({
      code: "VK_UNSUPPORTED",
      message: expect.stringMatching(/not have: sh \(exec: "sh"/) as string,
    });
  });

  test("an image without a program that the script needs is told", async () => {
    const result = run(["cat"], io({ stdin: Readable.from([]) }));
    await clock.settle();
    agent.greet();
    agent.output(`${nonce()}!dd\n`);

    await expect(result).rejects.toThrow("not have: dd");
  });

  test("a session that ends in the middle has no exit code", async () => {
    const result = run(["sleep", "9"], io());
    await clock.settle();
    agent.greet();
    agent.output(`${nonce()}^7\n`);
    agent.end("task stopped");

    await expect(result).rejects.toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringContaining("task stopped") as string });
  });
});

describe("with a terminal", () => {
  test("the command runs as it is, with sizes, input and the agent's exit code", async () => {
    const resizes = (async function* () {
      yield { width: 100, height: 30 };
    })();
    const result = run(["bash", "-l"], io({ tty: true, stdin: Readable.from([Buffer.from("exit\r")]), resizes }));
    await clock.settle();
    agent.onInput = () => {
      if (!inputText().includes("exit\r")) return;
      agent.output("bye\r\n");
      agent.send(payloadTypes.exitCode, "3");
      agent.end();
    };
    agent.greet();

    expect(await result).toEqual({ exitCode: 3 });
    expect(lines).toEqual(["bash -l"]);
    expect(await text(stdout.end())).toBe("bye\r\n");
    expect(agent.inputs.find(({ payloadType }) => payloadType === payloadTypes.size)?.payload.toString()).toBe('{"cols":100,"rows":30}');
  });

  test("without an exit code of the agent, it is 0", async () => {
    const result = run(["bash"], io({ tty: true }));
    await clock.settle();
    agent.greet();
    agent.end();

    expect(await result).toEqual({ exitCode: 0 });
  });
});

test("a client that goes away ends the session", async () => {
  const abort = new AbortController();
  const result = run(["sleep", "9"], io(), abort.signal);
  await clock.settle();
  agent.greet();
  await clock.settle();
  const gone = new Error("gone");
  abort.abort(gone);
  await expect(result).rejects.toBe(gone);

  expect(agent.inputs.at(-1)).toMatchObject({ payloadType: payloadTypes.flag, payload: Buffer.from([0, 0, 0, 2]) });
  expect(agent.isClosed).toBe(true);
});
