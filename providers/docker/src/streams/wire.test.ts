import { systemClock } from "@virtual-kubelet/clock";
import type { AttachIO } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { startFakeEngine, type FakeEngineRoutes } from "../test-support/fake-engine-server.ts";
import { frame } from "../test-support/frames.ts";
import { attachContainer } from "./attach-container.ts";
import { containerLogs } from "./container-logs.ts";
import { execCommand } from "./exec-command.ts";

const { signal: never } = new AbortController();
const options = { follow: false, previous: false, timestamps: false };

/** What the engine says of the container `c`. */
function inspected({ tty = false, running = true } = {}): FakeEngineRoutes["answers"] {
  const json = {
    Id: "c",
    State: { Running: running, Pid: 4, StartedAt: "2026-11-21T07:20:44Z" },
    Config: { Tty: tty, OpenStdin: true, Labels: null },
    HostConfig: { NetworkMode: "bridge" },
    LogPath: "",
  };
  return { "GET /containers/c/json": () => ({ status: 200, json }) };
}

/** A command `e` in it that ends with the code; the end shows at the third look. */
function execAnswers(exitCode: number): FakeEngineRoutes["answers"] {
  let looks = 0;
  return {
    "POST /containers/c/exec": () => ({ status: 201, json: { Id: "e" } }),
    "GET /exec/e/json": () => {
      const isRunning = ++looks < 3;
      return { status: 200, json: { Running: isRunning, ExitCode: isRunning ? null : exitCode, Pid: 1 } };
    },
  };
}

interface Capture extends AttachIO {
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
}

function capture(stdin?: Readable): Capture {
  return { stdin, stdout: new PassThrough(), stderr: new PassThrough(), tty: false, resizes: (async function* () {})() };
}

test("a command gets its input to the end, and its end is told when the engine knows it", async () => {
  await using fake = await startFakeEngine({
    answers: execAnswers(3),
    upgrades: {
      "/exec/e/start": (socket) => void text(socket).then((input) => socket.end(Buffer.concat([frame(1, input), frame(2, "err")]))),
    },
  });
  const io = capture(Readable.from([Buffer.from("in"), Buffer.from("put")]));

  expect(await execCommand(fake.engine, "c", ["cat"], io, never)).toEqual({ exitCode: 3 });

  expect([String(io.stdout.read()), String(io.stderr.read())]).toEqual(["input", "err"]);
  expect(fake.requests.find(({ path }) => path === "/containers/c/exec")?.body).toEqual({
    Cmd: ["cat"],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
  });
});

test("why a command cannot be started is an error of its own, with a shell's exit code", async () => {
  const reason = 'OCI runtime exec failed: exec failed: exec: "nope": executable file not found in $PATH: unknown';
  await using fake = await startFakeEngine({
    answers: execAnswers(126),
    upgrades: { "/exec/e/start": (socket) => void socket.end(frame(1, `${reason}\r\n`)) },
  });
  const io = capture();

  expect(await execCommand(fake.engine, "c", ["nope"], io, never)).toEqual({ exitCode: 127 });

  expect(io.stdout.read()).toBeNull();
  expect(String(io.stderr.read())).toBe(`${reason}\n`);
});

test("a container that does not run has no commands", async () => {
  await using fake = await startFakeEngine({
    answers: { "POST /containers/c/exec": () => ({ status: 409, json: { message: "Container c is not running" } }) },
  });

  await expect(execCommand(fake.engine, "c", ["true"], capture(), never)).rejects.toSatisfy(isNotFound);
});

test("an aborted command lets go of its connection", async () => {
  const [opened, closed] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  await using fake = await startFakeEngine({
    answers: execAnswers(0),
    upgrades: {
      "/exec/e/start": (socket) => {
        // A reset is an end without one.
        for (const event of ["end", "close"]) socket.once(event, () => closed.resolve(undefined));
        socket.resume();
        opened.resolve(undefined);
      },
    },
  });
  const controller = new AbortController();
  const reason = new Error("the client is gone");
  const call = execCommand(fake.engine, "c", ["sleep", "600"], capture(new PassThrough()), controller.signal);
  await opened.promise;
  controller.abort(reason);

  await expect(call).rejects.toBe(reason);
  await closed.promise;
});

test("an aborted command that a busy engine is slow to start is looked for until it runs", async () => {
  const opened = Promise.withResolvers<undefined>();
  let looks = 0;
  await using fake = await startFakeEngine({
    clock: { ...systemClock, sleep: () => Promise.resolve() },
    answers: {
      ...execAnswers(0),
      "GET /exec/e/json": () => ({ status: 200, json: ++looks < 70 ? { Running: false, Pid: 0 } : { Running: true, Pid: 1 } }),
    },
    upgrades: {
      "/exec/e/start": (socket) => {
        socket.resume();
        opened.resolve(undefined);
      },
    },
  });
  const controller = new AbortController();
  const call = execCommand(fake.engine, "c", ["sleep", "600"], capture(), controller.signal);
  await opened.promise;
  const reason = new Error("the client is gone");
  controller.abort(reason);

  await expect(call).rejects.toBe(reason);
  expect(looks).toBe(70);
});

test("a client's end of input ends a container's where it has stdinOnce, and detach keys are none that people type", async () => {
  await using fake = await startFakeEngine({
    answers: inspected(),
    upgrades: { "/containers/c/attach": (socket) => void text(socket).then((input) => socket.end(frame(1, input))) },
  });
  const io = capture(Readable.from([Buffer.from("typed")]));

  await attachContainer(fake.engine, "c", io, never);

  expect(String(io.stdout.read())).toBe("typed");
  const { query } = fake.requests.find(({ path }) => path === "/containers/c/attach") ?? {};
  expect(query?.get("stdin")).toBe("true");
  expect(query?.get("logs")).toBeNull();
  expect(query?.get("detachKeys")).toMatch(/^ctrl-\^,/);
});

test("a container that has ended cannot be attached to", async () => {
  await using fake = await startFakeEngine({ answers: inspected({ running: false }) });

  await expect(attachContainer(fake.engine, "c", capture(), never)).rejects.toSatisfy(isNotFound);
});

test("a log is asked for when it is read, and not to its end if nobody wants it", async () => {
  let isClosed = Promise.withResolvers<undefined>();
  await using fake = await startFakeEngine({
    answers: {
      ...inspected(),
      "GET /containers/c/logs": () => (response) => {
        isClosed = Promise.withResolvers();
        response.on("close", () => isClosed.resolve(undefined));
        response.write(frame(1, "2026-11-21T07:20:44.000000001Z one\n"));
      },
    },
  });

  const { data, timestamps, applied } = await containerLogs(fake.engine, "c", { ...options, follow: true }, never);
  expect(fake.requests.filter(({ path }) => path.endsWith("/logs"))).toEqual([]);
  for await (const chunk of data) {
    expect(String(chunk)).toBe("2026-11-21T07:20:44.000000001Z one\n");
    break;
  }

  await isClosed.promise;
  expect({ timestamps, applied }).toEqual({ timestamps: true, applied: ["tailLines", "sinceTime"] });
});

test("more last lines than can be kept are counted, and are the same lines", async () => {
  const lines = Array.from({ length: 100_010 }, (_, index) => `2026-11-21T07:20:44.${String(index).padStart(9, "0")}Z ${index}\n`);
  await using fake = await startFakeEngine({
    answers: {
      ...inspected(),
      "GET /containers/c/logs": () => (response) => {
        const since = fake.requests.at(-1)?.query.get("since");
        response.end(Buffer.concat(lines.slice(Number(since?.split(".")[1] ?? 0)).map((line) => frame(1, line))));
      },
    },
  });
  const read = async (tailLines: number): Promise<string[]> => {
    const { data } = await containerLogs(fake.engine, "c", { ...options, tailLines }, never);
    let all = "";
    for await (const chunk of data) all += String(chunk);
    return all.split("\n").slice(0, -1);
  };

  expect(await read(100_001)).toEqual(lines.slice(9).map((line) => line.trim()));
  expect(await read(100_010)).toHaveLength(100_010);
});

test("a log that is cut off by its client ends with the client's reason", async () => {
  await using fake = await startFakeEngine({
    answers: { ...inspected(), "GET /containers/c/logs": () => (response) => response.flushHeaders() },
  });
  const controller = new AbortController();
  const reason = new Error("the client is gone");
  const { data } = await containerLogs(fake.engine, "c", { ...options, follow: true }, controller.signal);
  const reading = (async () => {
    for await (const _ of data);
  })();
  await setTimeout(50);
  controller.abort(reason);

  await expect(reading).rejects.toBe(reason);
});

test("the last lines are looked for, then read from their first on", async () => {
  const log = Array.from({ length: 40 }, (_, index) => `2026-11-21T07:20:44.0000000${String(index).padStart(2, "0")}Z line ${index}\n`);
  await using fake = await startFakeEngine({
    answers: {
      ...inspected(),
      "GET /containers/c/logs": ({ query }) => {
        const [since, until] = [query.get("since")?.split(".")[1], query.get("until")?.split(".")[1]];
        const entries = log.slice(-Number(query.get("tail") ?? log.length)).filter((entry) => {
          const nanos = entry.slice(20, 29);
          return nanos >= (since ?? "") && nanos <= (until ?? "z");
        });
        return (response) => response.end(Buffer.concat(entries.map((entry) => frame(1, entry))));
      },
    },
  });

  const { data } = await containerLogs(fake.engine, "c", { ...options, tailLines: 2 }, never);
  let all = "";
  for await (const chunk of data) all += String(chunk);

  expect(all).toBe(log.slice(-2).join(""));
  expect(fake.requests.filter(({ path }) => path.endsWith("/logs")).map(({ query }) => query.get("tail"))).toEqual(["3", null]);
});
