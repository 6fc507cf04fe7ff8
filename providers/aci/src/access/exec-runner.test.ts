import { SeededRandom, systemClock, VirtualClock } from "@virtual-kubelet/clock";
import type { AttachIO } from "@virtual-kubelet/core";
import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, PassThrough, Readable, Writable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ExecRunner, type ExecRunnerOptions } from "./exec-runner.ts";

const place = { resourceGroup: "pods", name: "vk-shop-web", container: "main" };
const logger: ExecRunnerOptions["logger"] = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => logger };
let folder = "";

/** A terminal's settings do not exist in a pipe: the program that sets them does nothing. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "aci-exec-"));
  await writeFile(join(folder, "stty"), "#!/bin/sh\nexit 0\n");
  await chmod(join(folder, "stty"), 0o755);
});

afterAll(() => rm(folder, { recursive: true }));

interface Recorded {
  readonly commands: string[];
  readonly passwords: unknown[];
}

/** Azure's side: each command is a process whose input and output are a stream. */
function runner(options: Partial<ExecRunnerOptions> = {}): { runner: ExecRunner; recorded: Recorded } {
  const recorded: Recorded = { commands: [], passwords: [] };
  const groups: ExecRunnerOptions["groups"] = {
    exec: async ({ command }) => {
      recorded.commands.push(command);
      return { webSocketUri: `wss://socket.example/${recorded.commands.length - 1}`, password: "pw" };
    },
  };
  const openSocket: ExecRunnerOptions["openSocket"] = async (url, password) => {
    recorded.passwords.push(password);
    const command = recorded.commands[Number(new URL(url).pathname.slice(1))] ?? "";
    const child = spawn(command, [], { env: { PATH: `${folder}:/usr/bin:/bin` }, stdio: ["pipe", "pipe", "ignore"], detached: true });
    child.on("error", () => child.stdout.destroy());
    child.stdin.on("error", () => {});
    // A process that ends closes its input, which must not end the reading of its output.
    const input = new PassThrough().on("close", () => child.stdin.destroy());
    input.pipe(child.stdin);
    const stream = Duplex.from({ readable: child.stdout, writable: input }).on("error", () => {});
    return { stream, isBroken: () => false };
  };
  const own = new ExecRunner({ groups, openSocket, clock: systemClock, random: new SeededRandom(1), logger, mode: "shell", ...options });
  return { runner: own, recorded };
}

function ioOf({ stdin, tty = false }: { stdin?: Readable; tty?: boolean } = {}): { io: AttachIO; text: { out: string; errors: string } } {
  const text = { out: "", errors: "" };
  const sink = (name: "out" | "errors"): Writable =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        text[name] += chunk.toString("latin1");
        done();
      },
    });
  async function* none(): AsyncGenerator<never, void, undefined> {}
  return { io: { stdin, stdout: sink("out"), stderr: tty ? undefined : sink("errors"), tty, resizes: none() }, text };
}

const live = new AbortController().signal;

test("a command gets its arguments as they are, and its output, errors and exit code come apart", async () => {
  const { io, text } = ioOf();
  const { runner: own, recorded } = runner();
  const command = ["sh", "-c", 'printf "%s|" "$@"; printf "one\\ntwo" >&2; exit 42', "x", "a b", "it's", "$HOME", "", "ü\n"];

  expect(await own.run({ place, command, io }, live)).toEqual({ exitCode: 42 });
  expect(text.out).toBe(Buffer.from("a b|it's|$HOME||ü\n|").toString("latin1"));
  expect(text.errors).toBe("one\ntwo");
  expect(recorded).toEqual({ commands: ["/bin/sh"], passwords: [{ message: "pw" }] });
});

test("bytes of input and output arrive unchanged, also more than a frame of them", async () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256));
  const { io, text } = ioOf({ stdin: Readable.from([bytes.subarray(0, 10), bytes.subarray(10)]) });

  expect(await runner().runner.run({ place, command: ["cat"], io }, live)).toEqual({ exitCode: 0 });
  expect(Buffer.from(text.out, "latin1").equals(bytes)).toBe(true);
});

test("a command that ends before its input does not wait for more", async () => {
  const stdin = new PassThrough();
  const { io } = ioOf({ stdin });

  expect(await runner().runner.run({ place, command: ["true"], io }, live)).toEqual({ exitCode: 0 });
  stdin.destroy();
});

test("a program that does not exist has a shell's exit code", async () => {
  const { io, text } = ioOf();

  expect(await runner().runner.run({ place, command: ["no-such-program"], io }, live)).toEqual({ exitCode: 127 });
  expect(text.errors).toMatch(/no-such-program/);
});

test("a command on a terminal has an exit code, too", async () => {
  const { io, text } = ioOf({ tty: true });

  expect(await runner().runner.run({ place, command: ["sh", "-c", "echo hello; exit 3"], io }, live)).toEqual({ exitCode: 3 });
  expect(text.out).toBe("hello\n");
});

test("an image without a shell is told, with the setting that helps", async () => {
  const openSocket: ExecRunnerOptions["openSocket"] = async () => ({ stream: new PassThrough().end("exec failed"), isBroken: () => false });

  await expect(runner({ openSocket }).runner.run({ place, command: ["ls"], io: ioOf().io }, live)).rejects.toMatchObject({
    code: "VK_UNSUPPORTED",
    message: expect.stringMatching(/needs sh, .*exec: direct/),
  });
});

test("a stream that closes before the command has ended leaves its exit code unknown", async () => {
  const nonce = `vk-${new SeededRandom(1).uuid()}-`;
  const openSocket: ExecRunnerOptions["openSocket"] = async () => {
    const socket = Duplex.from({ readable: Readable.from([Buffer.from(`${nonce}^7\nhalf`)]), writable: new PassThrough().resume() });
    return { stream: socket.on("error", () => {}), isBroken: () => false };
  };
  const { io, text } = ioOf();

  await expect(runner({ openSocket }).runner.run({ place, command: ["ls"], io }, live)).rejects.toMatchObject({
    code: "VK_UNAVAILABLE",
    message: expect.stringContaining("its exit code is unknown"),
  });
  expect(text.out).toBe("half");
});

test("a direct command whose connection breaks is not said to have succeeded", async () => {
  const openSocket: ExecRunnerOptions["openSocket"] = async () => ({ stream: new PassThrough().end("half"), isBroken: () => true });
  const { io, text } = ioOf();

  await expect(runner({ openSocket, mode: "direct" }).runner.run({ place, command: ["ls"], io }, live)).rejects.toMatchObject({
    code: "VK_UNAVAILABLE",
    message: expect.stringContaining("the connection to Azure broke"),
  });
  expect(text.out).toBe("half");
});

test("a command whose client is gone is ended", async () => {
  const { runner: own, recorded } = runner();
  const client = new AbortController();
  const { io, text } = ioOf();
  const run = own.run({ place, command: ["sh", "-c", "echo started; exec sleep 600"], io }, client.signal);
  await expect.poll(() => text.out).toBe("started\n");
  client.abort(new Error("gone"));

  await expect(run).rejects.toThrow("gone");
  await own[Symbol.asyncDispose]();
  expect(recorded.commands).toEqual(["/bin/sh", "/bin/sh"]);
});

test("in the mode direct, a program runs without a shell, and words that Azure would tear apart are refused", async () => {
  const { io, text } = ioOf();
  const { runner: own, recorded } = runner({ mode: "direct" });

  expect(await own.run({ place, command: ["/bin/true"], io }, live)).toEqual({ exitCode: 0 });
  expect(recorded.commands).toEqual(["/bin/true"]);
  expect(text.out).toBe("");
  await expect(own.run({ place, command: ["echo", "a b"], io }, live)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
});

test("a terminal's first size is passed on, and a client without one is not waited for long", async () => {
  const clock = new VirtualClock();
  const sizes: unknown[] = [];
  const groups: ExecRunnerOptions["groups"] = {
    exec: async ({ size }) => {
      sizes.push(size);
      throw new Error("enough");
    },
  };
  const never: AttachIO["resizes"] = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
  async function* one(): AsyncGenerator<{ width: number; height: number }, void, undefined> {
    yield { width: 132, height: 43 };
  }
  const own = runner({ groups, clock }).runner;
  const { io } = ioOf({ tty: true });

  await expect(own.run({ place, command: ["sh"], io: { ...io, resizes: one() } }, live)).rejects.toThrow("enough");
  const waiting = own.run({ place, command: ["sh"], io: { ...io, resizes: never } }, live);
  await Promise.all([expect(waiting).rejects.toThrow("enough"), clock.advance(300)]);

  expect(sizes).toEqual([
    { rows: 43, cols: 132 },
    { rows: 24, cols: 80 },
  ]);
});
