import { VirtualClock } from "@virtual-kubelet/clock";
import type { AttachIO } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { NodeDirectory } from "../routes/served-node.ts";
import { fakeNode, fakePod, fakeRequest } from "../test-support/fake-node.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { testBudgets, testSlots } from "../test-support/test-budgets.ts";
import { runRoute } from "./run.ts";

/** The route, for a provider that runs commands with this function. */
function route(run: (command: readonly string[], io: AttachIO) => number, logger = new RecordingLogger()) {
  const provider = {
    runInContainer: async (_pod: unknown, _container: string, command: readonly string[], io: AttachIO) => ({ exitCode: run(command, io) }),
  };
  const directory = new NodeDirectory([fakeNode({ pods: [fakePod()], provider })]);
  return runRoute({ directory, clock: new VirtualClock(), logger, slots: testSlots(1), budgets: testBudgets(), limits: {} });
}

test("the command is split at single spaces, and the answer contains its output in order of arrival", async () => {
  const handler = route((command, { stdout, stderr }) => {
    stdout?.write(`${JSON.stringify(command)}\n`);
    stderr?.write("warning\n");
    stdout?.write("done\n");
    return 0;
  });

  expect(await handler(fakeRequest({ query: "cmd=ls+-l++/tmp" }))).toEqual({
    status: 200,
    headers: { "content-type": "application/json" },
    body: '["ls","-l","","/tmp"]\nwarning\ndone\n',
  });
});

test("a command that fails is answered with 500 and its output, and the exit code is logged", async () => {
  const logger = new RecordingLogger();
  const handler = route((_command, { stderr }) => {
    stderr?.write("no such file");
    return 2;
  }, logger);

  expect(await handler(fakeRequest({ query: "cmd=cat+x" }))).toMatchObject({
    status: 500,
    body: "command 'cat x' exited with 2: no such file",
  });
  expect(logger.fields).toMatchObject([{ program: "cat", arguments: 1, result: "exit code 2" }]);
});

test("output beyond the limit is dropped", async () => {
  const handler = route((_command, { stdout }) => {
    for (let index = 0; index < 100; index++) stdout?.write(Buffer.alloc(65_536, "x"));
    return 0;
  });

  const answer = (await handler(fakeRequest({ query: "cmd=yes" }))) as { body: string };

  expect(answer.body.length).toBe(1024 * 1024);
});

test("a provider that destroys its own output stream does no harm", async () => {
  const handler = route((_command, { stdout, stderr }) => {
    stdout?.write("begun");
    stdout?.destroy(new Error("the back end's stream broke"));
    stderr?.end();
    stderr?.write("behind the end");
    return 0;
  });

  expect(await handler(fakeRequest({ query: "cmd=ls" }))).toMatchObject({ status: 200, body: "begun" });
});

test("a request without a command is refused", async () => {
  await expect(Promise.resolve(route(() => 0)(fakeRequest()))).rejects.toMatchObject({ status: 400 });
});

test.each([
  ["cmd=ls", { pod: "db" }, 404, "pod does not exist"],
  ["cmd=ls", { container: "side" }, 500, 'container not found ("side")'],
  ["cmd=", {}, 400, 'you must specify the command to run, as "cmd"'],
  ["cmd=+ls", {}, 400, 'you must specify the command to run, as "cmd"'],
])("%s of %j is refused with %i, which is logged", async (query, other, status, message) => {
  const logger = new RecordingLogger();
  const params = { namespace: "default", pod: "web", container: "main", ...other };

  await expect(Promise.resolve(route(() => 0, logger)(fakeRequest({ query, params })))).rejects.toMatchObject({ status, message });
  expect(logger.fields).toMatchObject([{ verb: "run", result: `refused: ${message}` }]);
});

test("a command has neither input nor terminal, and is logged", async () => {
  const logger = new RecordingLogger();
  const ios: AttachIO[] = [];
  const handler = route((_command, io) => {
    ios.push(io);
    return 0;
  }, logger);

  await handler(fakeRequest({ query: "cmd=ls+-l" }));

  expect(ios).toMatchObject([{ stdin: undefined, tty: false }]);
  expect(logger.fields).toMatchObject([
    { user: "alice", verb: "run", pod: "default/web", program: "ls", arguments: 1, result: "exit code 0" },
  ]);
});

test("commands occupy slots, which are free when they have ended", async () => {
  const started = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const provider = {
    runInContainer: async () => {
      started.resolve();
      await done.promise;
      return { exitCode: 0 };
    },
  };
  const directory = new NodeDirectory([fakeNode({ pods: [fakePod()], provider })]);
  const options = {
    directory,
    clock: new VirtualClock(),
    logger: new RecordingLogger(),
    slots: testSlots(1),
    budgets: testBudgets(),
    limits: {},
  };
  const handler = runRoute(options);
  const first = handler(fakeRequest({ query: "cmd=ls" }));
  await started.promise;

  await expect(Promise.resolve(handler(fakeRequest({ query: "cmd=ls" })))).rejects.toMatchObject({ status: 503 });
  done.resolve();
  await first;

  expect(await handler(fakeRequest({ query: "cmd=ls" }))).toMatchObject({ status: 200 });
});

test("output is kept up to exactly the limit, and the rest is dropped", async () => {
  const handler = route((_command, { stdout, stderr }) => {
    stdout?.write("x".repeat(1024 * 1024 - 2));
    stderr?.write("end and more");
    stdout?.write("even more");
    return 0;
  });

  const { body } = (await handler(fakeRequest({ query: "cmd=yes" }))) as { body: string };

  expect(body.slice(-4)).toBe("xxen");
});
