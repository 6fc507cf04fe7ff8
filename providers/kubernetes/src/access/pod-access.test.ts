import type { AttachIO, ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import { isForbidden, isInvalidInput, isNotFound, isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import { requireSuccess } from "@virtual-kubelet/kube-client";
import { acceptPortForward, acceptRemoteCommand, type RemoteCommandResult } from "@virtual-kubelet/streaming";
import { once } from "node:events";
import { duplexPair, PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { describe, expect, test } from "vitest";
import { chunks, FarStreams, home as pod, podPath, type OnUpgrade } from "../test-support/far-streams.ts";
import { createPodAccess } from "./pod-access.ts";

const idle = new AbortController().signal;
const noOptions: ContainerLogOptions = { follow: false, previous: false, timestamps: false };

const status = (code: number, message: string): { readonly status: number; readonly body: string } => ({
  status: code,
  body: JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, message }),
});

async function* noSizes(): AsyncGenerator<never, void, undefined> {}

function streams(io: Partial<AttachIO> = {}): { readonly io: AttachIO; readonly out: PassThrough; readonly err: PassThrough } {
  const [out, err] = [new PassThrough(), new PassThrough()];
  return { out, err, io: { stdin: undefined, stdout: out, stderr: io.tty ? undefined : err, tty: false, resizes: noSizes(), ...io } };
}

async function logText({ data }: ContainerLogs): Promise<string> {
  const parts = [];
  for await (const chunk of data) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts).toString();
}

test("a pod that the far cluster does not have is not found", async () => {
  const logs = createPodAccess(new FarStreams().node).getContainerLogs({ ...pod, uid: "other" }, "main", noOptions, idle);

  await expect(logs).rejects.toSatisfy(isNotFound);
});

test("a pod that the watch has not shown yet is read", async () => {
  const far = new FarStreams();
  far.isWatched = false;

  await createPodAccess(far.node).getContainerLogs(pod, "main", noOptions, idle);

  expect(far.requests).toEqual([`${podPath}/log?container=main`]);
});

describe("logs", () => {
  test("the far kubelet selects the lines", async () => {
    const far = new FarStreams();
    far.onStream = async () => ({ status: 200, headers: {}, body: chunks("one\n", "two\n") });
    const sinceTime = "2026-03-01T10:00:00Z";
    const options = { ...noOptions, previous: true, timestamps: true, sinceTime, tailLines: 0, limitBytes: 5 };

    const logs = await createPodAccess(far.node).getContainerLogs(pod, "main", options, idle);

    expect(far.requests).toEqual([
      `${podPath}/log?container=main&previous=true&timestamps=true&sinceTime=2026-03-01T10%3A00%3A00Z&tailLines=0&limitBytes=5`,
    ]);
    expect([logs.timestamps, logs.applied]).toEqual([true, ["sinceTime", "tailLines", "limitBytes"]]);
    expect(await logText(logs)).toBe("one\ntwo\n");
  });

  test("a followed log whose container is silent opens without an answer, and leaving it aborts the request", async () => {
    const far = new FarStreams();
    let aborted = false;
    far.onStream = (_path, signal) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(signal.reason);
        }),
      );
    const opening = createPodAccess(far.node).getContainerLogs(pod, "main", { ...noOptions, follow: true }, idle);
    await far.clock.advance(1_000);
    const { data } = await opening;

    const iterator = data[Symbol.asyncIterator]();
    const next = iterator.next().catch(() => "aborted");
    await iterator.return?.();

    expect([aborted, await next]).toEqual([true, "aborted"]);
  });

  test("aborting ends the request with the reason of the signal", async () => {
    const far = new FarStreams();
    far.onStream = (_path, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const gone = new AbortController();
    const opening = createPodAccess(far.node).getContainerLogs(pod, "main", { ...noOptions, follow: true }, gone.signal);
    const reason = new Error("the client is gone");
    gone.abort(reason);

    await expect(opening).rejects.toBe(reason);
  });

  test("a user is told once which right the virtual node lacks", async () => {
    const far = new FarStreams();
    const cannot = 'pods "web-x" is forbidden: User "vk" cannot get resource "pods/log" in API group "" in the namespace "far"';
    far.onStream = async () => requireSuccess("GET log", { status: 403, headers: {}, body: chunks(status(403, cannot).body) });

    const refused = await createPodAccess(far.node)
      .getContainerLogs(pod, "main", noOptions, idle)
      .catch((error: unknown) => error);

    expect(isForbidden(refused)).toBe(true);
    expect(messageOf(refused)).toBe(
      `the far cluster does not allow the virtual node to get pods/log in namespace far: ${cannot}; virtual-kubelet manifests far prints the rights that it needs`,
    );
  });
});

describe("commands", () => {
  /** Runs what the test says in place of the command. */
  const answering =
    (work: (session: Awaited<ReturnType<typeof acceptRemoteCommand>>) => Promise<RemoteCommandResult>, far: FarStreams): OnUpgrade =>
    async (upgrade, { searchParams }) => {
      const is = (name: string): boolean => searchParams.get(name) === "true";
      const session = await acceptRemoteCommand(upgrade, {
        stdin: is("stdin"),
        stdout: is("stdout"),
        stderr: is("stderr"),
        tty: is("tty"),
        clock: far.clock,
      });
      await session.finish(await work(session));
    };

  test("a command gets its words and its input to the end, and its exit code comes back", async () => {
    const far = new FarStreams();
    far.onUpgrade = answering(async ({ stdin, stdout, stderr }) => {
      if (stdin && stdout) await pipeline(stdin, stdout, { end: false });
      stderr?.write("done\n");
      return { exitCode: 3 };
    }, far);
    const { io, out, err } = streams({ stdin: Readable.from([Buffer.from("some "), Buffer.from("input")]) });

    const result = await createPodAccess(far.node).runInContainer(pod, "main", ["sh", "-c", "cat & wait"], io, idle);

    expect(result).toEqual({ exitCode: 3 });
    expect([String(out.read()), String(err.read())]).toEqual(["some input", "done\n"]);
    expect(far.requests).toEqual([
      `${podPath}/exec?container=main&stdin=true&stdout=true&stderr=true&command=sh&command=-c&command=cat+%26+wait`,
    ]);
  });

  test("an older API server is spoken to in SPDY, where the input can end", async () => {
    const far = new FarStreams();
    const spdy = answering(async ({ stdin }) => ({ exitCode: (await text(stdin ?? Readable.from([]))).length }), far);
    far.onUpgrade = (upgrade, url) =>
      upgrade.request.headers.upgrade === "websocket" ? status(400, "unable to upgrade: unknown protocol") : spdy(upgrade, url);

    const { io } = streams({ stdin: Readable.from([Buffer.from("12345")]) });
    const result = await createPodAccess(far.node).runInContainer(pod, "main", ["wc"], io, idle);

    expect(result).toEqual({ exitCode: 5 });
  });

  test("a terminal's sizes arrive", async () => {
    const far = new FarStreams();
    far.onUpgrade = answering(async ({ resizes }) => {
      for await (const { width, height } of resizes) return { exitCode: width + height };
      return { exitCode: 0 };
    }, far);
    async function* sizes(): AsyncGenerator<{ width: number; height: number }, void, undefined> {
      yield { width: 100, height: 30 };
    }

    const { io } = streams({ tty: true, resizes: sizes() });
    expect(await createPodAccess(far.node).runInContainer(pod, "main", ["top"], io, idle)).toEqual({ exitCode: 130 });
    expect(far.requests[0]).toContain("stdout=true&tty=true");
    expect(far.requests[0]).not.toContain("stderr");
  });

  test("aborting ends the far command with the reason of the signal", async () => {
    const far = new FarStreams();
    const ended = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    far.onUpgrade = answering(async ({ signal }) => {
      begun.resolve();
      await once(signal, "abort");
      ended.resolve();
      return { exitCode: 0 };
    }, far);
    const gone = new AbortController();
    const running = createPodAccess(far.node).runInContainer(pod, "main", ["sleep", "600"], streams().io, gone.signal);
    await begun.promise;
    const reason = new Error("the client is gone");
    gone.abort(reason);

    await expect(running).rejects.toBe(reason);
    await ended.promise;
  });

  test("refused credentials are renewed once", async () => {
    const far = new FarStreams();
    const accept = answering(async () => ({ exitCode: 0 }), far);
    far.onUpgrade = (upgrade, url) =>
      upgrade.request.headers.authorization === "Bearer 1" ? status(401, "Unauthorized") : accept(upgrade, url);

    expect(await createPodAccess(far.node).runInContainer(pod, "main", ["true"], streams().io, idle)).toEqual({ exitCode: 0 });
    expect(far.tokens.at(-1)).toBe("Bearer 2");

    far.onUpgrade = () => status(401, "Unauthorized");
    far.tokens.length = 0;
    await expect(createPodAccess(far.node).runInContainer(pod, "main", ["true"], streams().io, idle)).rejects.toThrow(
      "the far cluster refuses the credentials: Unauthorized; renew those of cluster.kubeconfig",
    );
    expect(new Set(far.tokens).size).toBe(2);
  });

  test.each([
    ["an unknown container", status(400, "container nope is not valid for pod web-x"), isNotFound],
    ["a container that does not run", { status: 500, body: 'unable to upgrade connection: container not found ("main")' }, isNotFound],
    ["a pod that is gone", status(404, 'pods "web-x" not found'), isNotFound],
    ["a missing right", status(403, "forbidden"), isForbidden],
    ["a wrong request", status(400, "you must specify a command"), isInvalidInput],
    ["a kubelet that does not answer", status(500, "error dialing backend: dial tcp 10.0.0.7:10250: i/o timeout"), isUnavailable],
  ])("%s has its code and the far message", async (_what, answer, hasCode) => {
    const far = new FarStreams();
    far.onUpgrade = () => answer;

    const error: unknown = await createPodAccess(far.node)
      .runInContainer(pod, "main", ["true"], streams().io, idle)
      .catch((each: unknown) => each);

    expect(hasCode(error)).toBe(true);
    expect(messageOf(error)).not.toMatch(/kind|unable to upgrade connection/);
  });

  test("a command that could not start has the far runtime's message, without what each server adds", async () => {
    const far = new FarStreams();
    far.onUpgrade = answering(async () => ({ error: "error executing command in container: no such file: /bin/nope" }), far);

    const running = createPodAccess(far.node).runInContainer(pod, "main", ["/bin/nope"], streams().io, idle);

    await expect(running).rejects.toThrow(/^no such file: \/bin\/nope$/);
  });

  test("a command without any stream still runs", async () => {
    const far = new FarStreams();
    far.onUpgrade = answering(async () => ({ exitCode: 0 }), far);
    const { io } = streams({ stdout: undefined, stderr: undefined });

    expect(await createPodAccess(far.node).runInContainer(pod, "main", ["true"], io, idle)).toEqual({ exitCode: 0 });
    expect(far.requests[0]).toContain("stdout=true");
  });

  test("attaching ends with the container", async () => {
    const far = new FarStreams();
    far.onUpgrade = answering(async ({ stdout }) => {
      stdout?.write("later output\n");
      return { exitCode: 0 };
    }, far);
    const { io, out } = streams();

    await createPodAccess(far.node).attachToContainer(pod, "main", io, idle);

    expect(String(out.read())).toBe("later output\n");
    expect(far.requests[0]).toBe(`${podPath}/attach?container=main&stdout=true&stderr=true`);
  });
});

describe("port-forward", () => {
  const echo =
    (far: FarStreams): OnUpgrade =>
    async (upgrade) => {
      const session = await acceptPortForward(upgrade, { clock: far.clock });
      for await (const { port, stream, fail } of session.connections) {
        if (port === 80) void pipeline(stream, stream).catch(() => {});
        else if (port === 81) {
          stream.write("some");
          stream.once("data", () => stream.destroy(new Error("broken")));
        } else fail(`error forwarding port ${port} to pod abc, uid : connection refused`);
      }
    };

  test("each direction ends by itself", async () => {
    const far = new FarStreams();
    far.onUpgrade = echo(far);
    const [client, stream] = duplexPair();
    const forwarding = createPodAccess(far.node).portForward(pod, 80, stream, idle);
    client.end("over there and back");

    expect(await text(client)).toBe("over there and back");
    await forwarding;
    expect(far.requests[0]).toBe(`${podPath}/portforward?ports=80`);
  });

  test("a port that nothing listens on is Unavailable with the far message, and leaves the client's stream open", async () => {
    const far = new FarStreams();
    far.onUpgrade = echo(far);
    const [client, stream] = duplexPair();

    const error: unknown = await createPodAccess(far.node)
      .portForward(pod, 9, stream, idle)
      .catch((each: unknown) => each);

    expect(isUnavailable(error)).toBe(true);
    expect((error as Error).message).toBe("connection refused");
    expect([stream.destroyed, client.destroyed]).toEqual([false, false]);
    stream.destroy();
  });

  test("a connection that breaks later breaks the client's stream, and is no refusal", async () => {
    const far = new FarStreams();
    far.onUpgrade = echo(far);
    const [client, stream] = duplexPair();
    client.on("error", () => {});
    client.once("data", () => client.write("break now"));
    stream.on("error", () => {});

    const error: unknown = await createPodAccess(far.node)
      .portForward(pod, 81, stream, idle)
      .catch((each: unknown) => each);

    expect(error).toMatchObject({ code: "ECONNRESET" });
    expect(stream.destroyed).toBe(true);
  });

  test("a client that leaves ends the session", async () => {
    const far = new FarStreams();
    const over = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    far.onUpgrade = async (upgrade) => {
      const session = await acceptPortForward(upgrade, { clock: far.clock });
      void session.closed.then(over.resolve);
      for await (const { stream } of session.connections) stream.resume().once("data", open.resolve);
    };
    const [client, stream] = duplexPair();
    stream.on("error", () => {});
    client.write("hello");
    const gone = new AbortController();
    const forwarding = createPodAccess(far.node).portForward(pod, 80, stream, gone.signal);
    await open.promise;
    const reason = new Error("the client is gone");
    gone.abort(reason);

    await expect(forwarding).rejects.toBe(reason);
    expect(stream.destroyed).toBe(true);
    await over.promise;
  });
});
