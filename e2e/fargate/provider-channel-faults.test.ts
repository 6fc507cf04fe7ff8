import { isUnavailable, isUnsupported } from "@virtual-kubelet/errdefs";
import { eventually } from "@virtual-kubelet/testing";
import { PassThrough, Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { canOpenTerminals } from "../zun/fake/container-process.ts";
import type { SessionScript } from "./fake/exec/agent-session.ts";
import { firstKeys } from "./fake/fake-aws.ts";
import { openExecTarget, type CommandResult, type ExecTarget } from "./support/exec-target.ts";
import { setEnvironmentKeys, type RealTimeFargate } from "./support/real-time-fargate.ts";

// What goes wrong on the data channel of a command, with processes on real terminals: output is whole, or the end is an error.

const second = { accessKeyId: "ASIAFAKE000000000002", secretAccessKey: "second-secret-key", sessionToken: "second-session" };
let target: ExecTarget;
let fargate: RealTimeFargate;

describe.skipIf(!canOpenTerminals())("a command", () => {
  beforeAll(async () => {
    target = await openExecTarget();
    ({ fargate } = target);
    await eventually(async () => expect((await run(["true"])).exitCode).toBe(0));
  });
  afterEach(() => {
    fargate.aws.sessions.script = {};
  });
  afterAll(() => target[Symbol.asyncDispose]());

  const run: ExecTarget["run"] = (command, changes): Promise<CommandResult> => target.run(command, changes);

  const characters = "é€😀Ⅷ漢字\n".repeat(50);

  test.each<[string, SessionScript]>([
    ["one byte", { chunkBytes: 1 }],
    ["two bytes", { chunkBytes: 2 }],
    ["three bytes, in the wrong order", { chunkBytes: 3, reorders: true }],
    ["seven bytes, each twice", { chunkBytes: 7, repeats: true }],
    ["five bytes, of which every ninth is lost at first", { chunkBytes: 5, losesOutgoing: (count) => count % 9 === 4 }],
  ])("has every character of its output, with frames of %s", async (_frames, script) => {
    fargate.aws.sessions.script = script;
    const { exitCode, output } = await run(["sh", "-c", 'printf %s "$1"; exit 5', "sh", characters]);

    expect(output.toString("utf8")).toBe(characters);
    expect(exitCode).toBe(5);
  });

  test("has every character of its input, although messages are lost and repeated", async () => {
    fargate.aws.sessions.script = { losesIncoming: (count) => count % 7 === 3, repeats: true };
    const bytes = Buffer.from(characters);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 13) }, (_, index) => bytes.subarray(index * 13, index * 13 + 13));
    const { exitCode, output } = await run(["cat"], { stdin: Readable.from(chunks) });

    expect(output.toString("utf8")).toBe(characters);
    expect(exitCode).toBe(0);
  });

  test.each([false, true])(
    "whose channel is cut without a close frame fails after the output so far, and does not hang (terminal: %s)",
    async (tty) => {
      fargate.aws.sessions.script = { cutAfterBytes: 2000 };
      const stdout = new PassThrough();
      let received = 0;
      stdout.on("data", (chunk: Buffer) => (received += chunk.length));
      const running = run(["sh", "-c", "while echo more of the output; do :; done"], { tty, stdout });

      await expect(running).rejects.toSatisfy(isUnavailable);
      await expect(running).rejects.toThrow("the connection to AWS ended before the command");
      expect(received).toBeGreaterThan(0);
    },
  );

  test("in a session that is to be encrypted is refused with what to change", async () => {
    fargate.aws.sessions.script = { demandsEncryption: true };
    const error: unknown = await run(["true"]).catch((caught: unknown) => caught);

    expect(error).toSatisfy(isUnsupported);
    expect(String(error)).toContain("remove kmsKeyId");
  });

  test("goes on while its credentials expire, and the next one has the new ones", async () => {
    const stdin = new PassThrough();
    const running = run(["cat"], { stdin });
    await expect.poll(() => fargate.aws.sessions.sessions.length).toBeGreaterThan(0);
    fargate.aws.credentials.expire(firstKeys.accessKeyId);
    fargate.aws.credentials.accept(second);
    stdin.write("before ");
    setEnvironmentKeys(second);
    stdin.end("and after");

    expect(String((await running).output)).toBe("before and after");
    expect((await run(["sh", "-c", "exit 9"])).exitCode).toBe(9);
    expect(fargate.aws.api.seen.at(-1)?.accessKeyId).toBe(second.accessKeyId);
  });

  test("leaves no complaint of the agent", () => {
    expect(fargate.aws.sessions.sessions.flatMap(({ problems }) => problems)).toEqual([]);
  });
});
