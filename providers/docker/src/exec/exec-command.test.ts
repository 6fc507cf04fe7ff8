import { systemClock } from "@virtual-kubelet/clock";
import { isNotFound, isUnavailable } from "@virtual-kubelet/errdefs";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { capture } from "../test-support/captured-io.ts";
import { startFakeEngine, type FakeEngineRoutes } from "../test-support/fake-engine-server.ts";
import { frame } from "../test-support/frames.ts";
import { execCommand } from "./exec-command.ts";

const { signal: never } = new AbortController();

/** Answers for a command `e` in the container `c`. The third request sees that it has ended, with the code. */
function execAnswers(exitCode: number, pid = 1): FakeEngineRoutes["answers"] {
  let looks = 0;
  return {
    "POST /containers/c/exec": () => ({ status: 201, json: { Id: "e" } }),
    "GET /exec/e/json": () => {
      const isRunning = ++looks < 3;
      return { status: 200, json: { Running: isRunning, ExitCode: isRunning ? null : exitCode, Pid: pid } };
    },
  };
}

test("a command gets its input to the end, and its end is told when the engine knows it", async () => {
  await using fake = await startFakeEngine({
    answers: execAnswers(3),
    upgrades: {
      "/exec/e/start": (socket) => void text(socket).then((input) => socket.end(Buffer.concat([frame(1, input), frame(2, "err")]))),
    },
  });
  const io = capture(Readable.from([Buffer.from("in"), Buffer.from("put")]));

  expect(await execCommand(fake.engine, { containerId: "c" }, ["cat"], io, never)).toEqual({ exitCode: 3 });

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

  expect(await execCommand(fake.engine, { containerId: "c" }, ["nope"], io, never)).toEqual({ exitCode: 127 });

  expect(io.stdout.read()).toBeNull();
  expect(String(io.stderr.read())).toBe(`${reason}\n`);
});

test("a command that an engine without containerd could not start has no exit code, because it says nothing about the container", async () => {
  await using fake = await startFakeEngine({
    answers: execAnswers(126, 0),
    upgrades: { "/exec/e/start": (socket) => void socket.end(frame(1, "transport is closing: unavailable\r\n")) },
  });

  const call = execCommand(fake.engine, { containerId: "c" }, ["true"], capture(), never);

  await expect(call).rejects.toThrow("run a command in container c: the engine could not start it: transport is closing: unavailable");
  await expect(call).rejects.toSatisfy(isUnavailable);
});

test.for<[what: string, pid: number, output: string, isPodman: boolean]>([
  ["that the engine still knows", 1, "denied\r\n", false],
  ["whose output is not an engine's", 0, "denied\n", false],
  ["without output", 0, "", false],
  ["that podman has forgotten", 0, "denied\r\n", true],
])("126 is a command's own exit code if it had a process %s", async ([, pid, output, forgetsProcesses]) => {
  await using fake = await startFakeEngine({
    answers: execAnswers(126, pid),
    upgrades: { "/exec/e/start": (socket) => void socket.end(output === "" ? "" : frame(1, output)) },
  });

  const call = execCommand(fake.engine, { containerId: "c", forgetsProcesses }, ["sh", "-c", "exit 126"], capture(), never);

  expect(await call).toEqual({ exitCode: 126 });
});

test("a container that does not run has no commands", async () => {
  await using fake = await startFakeEngine({
    answers: { "POST /containers/c/exec": () => ({ status: 409, json: { message: "Container c is not running" } }) },
  });

  await expect(execCommand(fake.engine, { containerId: "c" }, ["true"], capture(), never)).rejects.toSatisfy(isNotFound);
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
  const call = execCommand(fake.engine, { containerId: "c" }, ["sleep", "600"], capture(new PassThrough()), controller.signal);
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
  const call = execCommand(fake.engine, { containerId: "c" }, ["sleep", "600"], capture(), controller.signal);
  await opened.promise;
  const reason = new Error("the client is gone");
  controller.abort(reason);

  await expect(call).rejects.toBe(reason);
  expect(looks).toBe(70);
});
