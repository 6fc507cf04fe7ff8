import { systemClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { PassThrough, Readable, type Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { AttachIO, ContainerLogs, PodRef } from "@virtual-kubelet/core";
import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { LogFields, Pod } from "@virtual-kubelet/kube-client";
import { runRemoteCommand, type RemoteCommandIO, type RemoteCommandResult } from "@virtual-kubelet/streaming";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { fakeNode, fakePod } from "../test-support/fake-node.ts";
import { TestServer } from "../test-support/test-server.ts";

interface Call {
  readonly ref: PodRef;
  readonly container: string;
  readonly command: readonly string[];
  readonly io: AttachIO;
  readonly signal: AbortSignal;
}

const calls: Call[] = [];
/** Number of commands that are logged or will be. */
let begun = 0;
/** Implements exec and attach of the container; the number is the exit code. */
let work: (call: Call) => Promise<number>;
let pod: Pod;
let server: TestServer;

beforeAll(async () => {
  const run = (call: Call): Promise<number> => {
    calls.push(call);
    begun++;
    return work(call);
  };
  const node = fakeNode({
    provider: {
      runInContainer: async (ref, container, command, io, signal) => ({ exitCode: await run({ ref, container, command, io, signal }) }),
      attachToContainer: async (ref, container, io, signal) => void (await run({ ref, container, command: [], io, signal })),
    },
  });
  const access = Object.assign(node.access, { listPods: () => [pod] });
  server = await TestServer.open({ nodes: [{ ...node, access }], limits: { maxStreams: 1 } });
});

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  // The line of the previous test may not be written yet.
  await vi.waitFor(() => expect(audit().filter(({ result }) => !String(result).startsWith("refused"))).toHaveLength(begun));
  begun = 0;
  calls.length = 0;
  server.logger.fields.length = 0;
  work = async () => 0;
  pod = fakePod();
});

/** The pod, with these fields in its container's spec. */
function podWith(container: { readonly stdin?: boolean; readonly stdinOnce?: boolean; readonly tty?: boolean }): Pod {
  return fakePod({ spec: { containers: [{ name: "main", image: "busybox", ...container }] } });
}

/** Writes, and waits until the stream accepts more. */
async function write(stream: Writable | undefined, chunk: string): Promise<void> {
  if (stream && !stream.write(chunk)) await once(stream, "drain");
}

interface Io extends RemoteCommandIO {
  readonly signal?: AbortSignal;
}

function ask(path: string, io: Io = {}): Promise<RemoteCommandResult> {
  return runRemoteCommand(server.target(path), { ...io, transport: "spdy", clock: systemClock });
}

/** The logged lines of commands. */
const audit = (): LogFields[] => server.logger.fields.filter(({ verb }) => verb !== undefined);

describe("exec", () => {
  const path = "/exec/default/web/main?command=sh&command=-c";

  test("passes command, streams and exit code, and logs a line", async () => {
    work = async ({ io }) => {
      await write(io.stdout, `got ${io.stdin ? await text(io.stdin) : "nothing"}`);
      await write(io.stderr, "oops");
      return 3;
    };
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];

    const result = await ask(`${path}&input=1&output=1&error=1`, { stdin: Readable.from(["input"]), stdout, stderr });

    expect(result).toMatchObject({ exitCode: 3 });
    expect([String(stdout.read()), String(stderr.read())]).toEqual(["got input", "oops"]);
    expect(calls).toMatchObject([
      { ref: { namespace: "default", name: "web", uid: "u1" }, container: "main", command: ["sh", "-c"], io: { tty: false } },
    ]);
    await vi.waitFor(() =>
      expect(audit()).toEqual([
        {
          user: "alice",
          verb: "exec",
          pod: "default/web",
          container: "main",
          program: "sh",
          arguments: 1,
          result: "exit code 3",
          durationMs: expect.any(Number),
        },
      ]),
    );
  });

  test("has only the streams that were requested", async () => {
    await ask(`${path}&output=1`, { stdout: new PassThrough() });

    expect(calls[0]?.io).toMatchObject({ stdin: undefined, stdout: expect.anything(), stderr: undefined });
  });

  test("has a terminal of the client's size if one was requested", async () => {
    work = async ({ io }) => {
      for await (const { width, height } of io.resizes) {
        await write(io.stdout, `${io.tty} ${width}x${height}`);
        break;
      }
      return 0;
    };
    const stdout = new PassThrough();
    async function* resizes(): AsyncGenerator<{ width: number; height: number }> {
      yield { width: 101, height: 33 };
    }

    await ask(`${path}&output=1&tty=1`, { stdout, tty: true, resizes: resizes() });

    expect(String(stdout.read())).toBe("true 101x33");
  });

  test.each([0, 255])("passes the exit code %i", async (exitCode) => {
    work = async () => exitCode;

    expect(await ask(`${path}&output=1`, { stdout: new PassThrough() })).toMatchObject({ exitCode });
  });

  test.each([-1, 256, 1.5])("reports the invalid exit code %d as an error", async (exitCode) => {
    work = async () => exitCode;

    expect(await ask(`${path}&output=1`, { stdout: new PassThrough() })).toMatchObject({
      error: expect.stringContaining(`error executing command in container: the provider says it exited with ${exitCode}`),
    });
  });

  test("reports why it failed to the client and in the log", async () => {
    work = () => Promise.reject(new UnavailableError("no such program"));

    expect(await ask(`${path}&output=1`, { stdout: new PassThrough() })).toMatchObject({
      error: expect.stringContaining("error executing command in container: no such program"),
    });
    await vi.waitFor(() => expect(audit()).toMatchObject([{ result: "error executing command in container: no such program" }]));
  });

  test("ends when its client disconnects, which is logged", async () => {
    const [client, stdout] = [new AbortController(), new PassThrough()];
    work = async ({ io, signal }) => {
      await write(io.stdout, "waiting");
      await once(signal, "abort");
      return 0;
    };
    const running = ask(`${path}&output=1`, { stdout, signal: client.signal });
    await once(stdout, "readable");

    client.abort(new Error("gone"));

    await expect(running).rejects.toThrow("gone");
    await vi.waitFor(() => expect(audit()).toMatchObject([{ result: expect.stringMatching(/^ended early: ./) }]));
  });

  test("frees its slot for the next one", async () => {
    const done = Promise.withResolvers<void>();
    work = () => done.promise.then(() => 0);
    const running = ask(`${path}&output=1`, { stdout: new PassThrough() });
    await vi.waitFor(() => expect(calls).toHaveLength(1));

    await expect(ask(`${path}&output=1`, { stdout: new PassThrough() })).rejects.toMatchObject({ statusCode: 503 });
    done.resolve();
    await running;

    await vi.waitFor(async () => expect(await ask(`${path}&output=1`, { stdout: new PassThrough() })).toMatchObject({ exitCode: 0 }));
  });

  test("is logged even if the client's protocol is not supported, and the client gets an error", async () => {
    const upgrade = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v99.channel.k8s.io\r\n";

    const answer = await server.raw(`POST ${path}&output=1 HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);

    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    begun++;
    await vi.waitFor(() => expect(audit()).toMatchObject([{ verb: "exec", result: expect.stringMatching(/^not started: ./) }]));
    expect(calls).toEqual([]);
    await vi.waitFor(async () => expect(await ask(`${path}&output=1`, { stdout: new PassThrough() })).toMatchObject({ exitCode: 0 }));
  });

  test.each([
    ["/exec/default/web/main?output=1", 400, "you must specify the command to run"],
    ["/exec/default/web/main?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"],
    ["/exec/default/none/main?command=ls&output=1", 404, "pod does not exist"],
    ["/exec/default/web/none?command=ls&output=1", 500, 'container not found ("none")'],
    ["/attach/default/web/none?output=1", 500, "container none not found in pod web_default"],
    ["/attach/default/none/main?output=1", 404, "pod does not exist"],
  ])("%s is refused before the connection is upgraded", async (refused, statusCode, body) => {
    const error: unknown = await ask(refused, { stdout: new PassThrough() }).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ statusCode, body });
  });
});

describe("a container that certainly does not run is not found", () => {
  const statusOf = (change: object): Pod["status"] => {
    const [status] = fakePod().status?.containerStatuses ?? [];
    return status && { phase: "Running", containerStatuses: [{ ...status, ...change }] };
  };
  const outcome = (): Promise<RemoteCommandResult | number> =>
    ask("/exec/default/web/main?command=ls&output=1", { stdout: new PassThrough() }).catch((error: unknown) =>
      Number((error as { readonly statusCode?: unknown }).statusCode),
    );

  test.each([
    ["of a pod that has ended", { phase: "Succeeded" }],
    ["of a pod that has failed", { phase: "Failed" }],
    ["that waits, and never ran", statusOf({ state: { waiting: { reason: "ContainerCreating" } } })],
  ])("%s", async (_what, status) => {
    pod = fakePod({ status });

    expect(await outcome()).toBe(500);
  });

  test.each([
    ["in back-off", statusOf({ state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } })],
    ["with an unknown state", { phase: "Running" }],
    ["of a pod without a phase", {}],
  ])("a container %s may be running, and the provider is asked", async (_what, status) => {
    pod = fakePod({ status });

    expect(await outcome()).toMatchObject({ exitCode: 0 });
  });
});

describe("attach", () => {
  const path = "/attach/default/web/main?input=1&output=1";

  test("joins the streams, and logs a line", async () => {
    pod = podWith({ stdin: true, stdinOnce: true });
    work = async ({ io }) => {
      await write(io.stdout, `got ${io.stdin ? await text(io.stdin) : "nothing"}`);
      await write(io.stderr, "oops");
      return 0;
    };
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];

    expect(await ask(`${path}&error=1`, { stdin: Readable.from(["input"]), stdout, stderr })).toMatchObject({ exitCode: 0 });

    expect([String(stdout.read()), String(stderr.read())]).toEqual(["got input", "oops"]);
    expect(calls).toMatchObject([{ ref: { uid: "u1" }, container: "main" }]);
    await vi.waitFor(() =>
      expect(audit()).toEqual([
        { user: "alice", verb: "attach", pod: "default/web", container: "main", result: "exit code 0", durationMs: expect.any(Number) },
      ]),
    );
  });

  test("uses the container's own terminal setting, not the query's", async () => {
    const sizes: unknown[] = [];
    work = async ({ io }) => {
      for await (const size of io.resizes) {
        sizes.push(size);
        break;
      }
      return 0;
    };
    async function* resizes(): AsyncGenerator<{ width: number; height: number }> {
      yield { width: 101, height: 33 };
    }
    const withTerminal = (): Promise<RemoteCommandResult> =>
      ask("/attach/default/web/main?output=1&tty=1", { stdout: new PassThrough(), tty: true, resizes: resizes() });

    pod = podWith({ tty: true });
    expect(await withTerminal()).toMatchObject({ exitCode: 0 });
    pod = podWith({});
    expect(await withTerminal()).toMatchObject({ exitCode: 0 });
    work = async () => 0;
    pod = podWith({ tty: true });
    await ask("/attach/default/web/main?output=1&error=1", { stdout: new PassThrough(), stderr: new PassThrough() });

    expect(sizes).toEqual([{ width: 101, height: 33 }]);
    expect(calls.map(({ io }) => [io.tty, io.stdin, io.stderr])).toEqual([
      [true, undefined, undefined],
      [false, undefined, undefined],
      [true, undefined, undefined],
    ]);
  });

  test("leaves the container's input open for the next client unless stdinOnce is set", async () => {
    const ends: boolean[] = [];
    work = async ({ io }) => {
      let hasEnded = false;
      io.stdin?.on("end", () => (hasEnded = true));
      if (io.stdin) await once(io.stdin, "data");
      await new Promise((resolve) => setImmediate(resolve));
      ends.push(hasEnded);
      return 0;
    };
    pod = podWith({ stdin: true });

    await ask(path, { stdin: Readable.from(["input"]), stdout: new PassThrough() });

    expect(ends).toEqual([false]);
  });

  test("reports why it failed", async () => {
    work = () => Promise.reject(new UnavailableError("no terminal"));

    expect(await ask("/attach/default/web/main?output=1", { stdout: new PassThrough() })).toMatchObject({
      error: expect.stringContaining("error attaching to container: no terminal"),
    });
  });
});

test("commands do not use the streams that are reserved for logs", async () => {
  const run = async (_ref: PodRef, _container: string, _command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<never> => {
    await write(io.stdout, "waiting");
    await once(signal, "abort");
    throw signal.reason;
  };
  const getContainerLogs = async (): Promise<ContainerLogs> => ({ data: Readable.from(["a line\n"]) });
  const provider = { runInContainer: run, getContainerLogs };
  // An eighth of them is reserved for logs.
  await using small = await TestServer.open({ nodes: [fakeNode({ pods: [fakePod()], provider })], limits: { maxStreams: 8 } });
  const leave = new AbortController();
  const exec = async (): Promise<string> => {
    const stdout = new PassThrough();
    const target = small.target("/exec/default/web/main?command=wait&output=1");
    const ended = runRemoteCommand(target, { stdout, signal: leave.signal, transport: "spdy", clock: systemClock }).then(
      (result) => JSON.stringify(result),
      messageOf,
    );
    return await Promise.race([once(stdout, "readable").then(() => "runs"), ended]);
  };

  for (let count = 1; count <= 7; count++) expect(await exec()).toBe("runs");
  expect(await exec()).toContain("too many streams are open, at most 8");
  expect(await small.get("/containerLogs/default/web/main")).toMatchObject({ status: 200, text: "a line\n" });
  leave.abort();
});

test("stopping the server ends commands and informs their clients", async () => {
  const run = async (_ref: PodRef, _container: string, _command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<never> => {
    await write(io.stdout, "waiting");
    await once(signal, "abort");
    throw signal.reason;
  };
  const stopped = await TestServer.open({
    nodes: [fakeNode({ pods: [fakePod()], provider: { runInContainer: run } })],
    limits: { shutdownMs: 60_000 },
  });
  const stdout = new PassThrough();
  const running = runRemoteCommand(stopped.target("/exec/default/web/main?command=wait&output=1"), {
    stdout,
    transport: "spdy",
    clock: systemClock,
  }).catch((error: unknown) => messageOf(error));
  await once(stdout, "readable");

  await stopped[Symbol.asyncDispose]();

  expect(await running).toMatchObject({ error: expect.stringContaining("the node's server is stopping") });
});
