import { VirtualClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { connect } from "node:net";
import { PassThrough, Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  acceptRemoteCommand,
  relayRemoteCommand,
  runRemoteCommand,
  runRemoteCommandOver,
  type RemoteCommandResult,
  type RemoteCommandServerOptions,
  type RemoteCommandSession,
  type TerminalSize,
  proxyUpgrade,
  UpgradeRefusedError,
} from "@virtual-kubelet/streaming";
import { eventually } from "@virtual-kubelet/testing";
import { describe, expect, test } from "vitest";
import { dialSpdy } from "../../packages/streaming/src/upgrade/dial-spdy.ts";
import { clock, digestOf, megabytes, serveUpgrades, type UpgradeServer } from "./support/streaming-rig.ts";

const all = { stdin: true, stdout: true, stderr: true, tty: false };

/** Server that runs a command with the given streams for each request. */
function serveCommand(
  command: (session: RemoteCommandSession, query: URLSearchParams) => Promise<RemoteCommandResult>,
  options: Partial<RemoteCommandServerOptions> = {},
): Promise<UpgradeServer> {
  return serveUpgrades(async (upgrade, query) => {
    const session = await acceptRemoteCommand(upgrade, { ...all, clock, ...options });
    await session.finish(await command(session, query));
  });
}

/** Echoes its input and exits with the code in the query. */
async function echo({ stdin, stdout }: RemoteCommandSession, query: URLSearchParams): Promise<RemoteCommandResult> {
  for await (const chunk of stdin ?? []) if (stdout?.write(chunk) === false) await once(stdout, "drain");
  return { exitCode: Number(query.get("exit") ?? 0) };
}

function collect(): { readonly stream: Writable; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

function input(text: string): Readable {
  return Readable.from([Buffer.from(text)]);
}

const transports = ["spdy", "websocket"] as const;

describe.each(transports)("a command over %s", (transport) => {
  test.each([0, 3, 7, 255])("ends with exit code %i after its input has ended", async (exitCode) => {
    await using server = await serveCommand(echo);
    const stdout = collect();

    const result = await runRemoteCommand(
      { url: `${server.url}/?exit=${exitCode}` },
      { transport, clock, stdin: input("hello\n"), stdout: stdout.stream, stderr: collect().stream },
    );

    expect(result).toMatchObject({ exitCode });
    expect(stdout.text()).toBe("hello\n");
  });

  test("keeps standard output and standard error apart", async () => {
    await using server = await serveCommand((session) => {
      session.stdout?.write("out");
      session.stderr?.write("err");
      return Promise.resolve({ exitCode: 0 });
    });
    const stdout = collect();
    const stderr = collect();

    await runRemoteCommand({ url: server.url }, { transport, clock, stdin: input(""), stdout: stdout.stream, stderr: stderr.stream });

    expect([stdout.text(), stderr.text()]).toEqual(["out", "err"]);
  });

  test("that could not be run tells why", async () => {
    await using server = await serveCommand(() => Promise.resolve({ error: "error executing command in container: no such file" }));

    const result = await runRemoteCommand(
      { url: server.url },
      { transport, clock, stdin: input(""), stdout: collect().stream, stderr: collect().stream },
    );

    expect(result).toMatchObject({ error: "Internal error occurred: error executing command in container: no such file" });
  });

  test("takes and gives 20 MB unchanged", async () => {
    await using server = await serveCommand(echo);
    const stdout = new PassThrough();
    const expected = await digestOf(megabytes(20));

    const [result, digest] = await Promise.all([
      runRemoteCommand(
        { url: server.url },
        { transport, clock, stdin: Readable.from(megabytes(20)), stdout, stderr: collect().stream },
      ).finally(() => stdout.end()),
      digestOf(stdout),
    ]);

    expect(result).toMatchObject({ exitCode: 0 });
    expect(digest).toBe(expected);
  });

  test("learns its terminal's sizes, also the one from before it looked", async () => {
    await using server = await serveCommand(
      async ({ resizes, stdout }) => {
        await sleep(50);
        for await (const { width, height } of resizes) {
          stdout?.write(`${width}x${height} `);
          if (width === 120) break;
        }
        return { exitCode: 0 };
      },
      { tty: true },
    );
    const stdout = collect();
    async function* sizes(): AsyncGenerator<TerminalSize> {
      yield { width: 80, height: 24 };
      await eventually(() => expect(stdout.text()).toContain("80x24"));
      yield { width: 120, height: 40 };
    }

    await runRemoteCommand(
      { url: server.url },
      { transport, clock, tty: true, stdin: new PassThrough(), stdout: stdout.stream, resizes: sizes() },
    );

    expect(stdout.text()).toBe("80x24 120x40 ");
  });

  test("is told that its client has died", async () => {
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<unknown>();
    await using server = await serveCommand(async ({ signal, closed }) => {
      signal.addEventListener("abort", () => aborted.resolve(signal.reason));
      begun.resolve();
      await closed;
      return { exitCode: 0 };
    });
    const client = new AbortController();
    const running = runRemoteCommand(
      { url: server.url },
      { transport, clock, stdin: new PassThrough(), stdout: collect().stream, stderr: collect().stream, signal: client.signal },
    );
    running.catch(() => undefined);
    await begun.promise;

    client.abort(new Error("^C"));

    await expect(running).rejects.toThrow("^C");
    await expect(aborted.promise).resolves.toMatchObject({ code: "VK_UNAVAILABLE" });
  });

  test("that reads nothing is told that its client has died, and holds little meanwhile", async () => {
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    await using server = await serveCommand(async ({ signal, closed }) => {
      signal.addEventListener("abort", () => aborted.resolve());
      begun.resolve();
      await closed;
      return { exitCode: 0 };
    });
    let sent = 0;
    function* endless(): Generator<Buffer> {
      for (;;) {
        sent += 64 * 1024;
        yield Buffer.alloc(64 * 1024);
      }
    }
    const sockets: import("node:net").Socket[] = [];
    const { port } = new URL(server.url);
    const running = runRemoteCommand(
      {
        url: server.url,
        connect: () => {
          const socket = connect(Number(port), "127.0.0.1");
          sockets.push(socket);
          return socket;
        },
      },
      { transport, clock, stdin: Readable.from(endless()), stdout: collect().stream, stderr: collect().stream },
    );
    running.catch(() => undefined);
    await begun.promise;
    await eventually(() => expect(sent).toBeGreaterThan(64 * 1024));
    let before = -1;
    while (before !== sent) {
      before = sent;
      await sleep(200);
    }

    const killedAt = performance.now();
    for (const socket of sockets) socket.destroy();
    await aborted.promise;

    // There is no need to wait for the missing pong.
    expect(performance.now() - killedAt).toBeLessThan(20_000);
    // The buffers of the kernel come on top of the inbox's half megabyte.
    expect(sent).toBeLessThan(16 * 1024 * 1024);
    await expect(running).rejects.toThrow();
  });

  test("waits with its output for a client that does not read", async () => {
    let written = 0;
    await using server = await serveCommand(async ({ stdout, signal }) => {
      while (!signal.aborted && written < 64 * 1024 * 1024) {
        written += 64 * 1024;
        if (stdout?.write(Buffer.alloc(64 * 1024)) === false) await once(stdout, "drain", { signal }).catch(() => undefined);
      }
      return { exitCode: 0 };
    });
    const stalled = new Writable({ highWaterMark: 1, write: () => undefined });
    const client = new AbortController();

    const running = runRemoteCommand(
      { url: server.url },
      { transport, clock, stdin: input(""), stdout: stalled, stderr: collect().stream, signal: client.signal },
    );
    running.catch(() => undefined);
    await eventually(() => expect(written).toBeGreaterThan(64 * 1024));
    let before = -1;
    while (before !== written) {
      before = written;
      await sleep(300);
    }

    expect(written).toBeLessThan(24 * 1024 * 1024);
    client.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
  });

  test("through a relay as through an API server, to SPDY whatever the client speaks", async () => {
    await using kubelet = await serveCommand(echo);
    await using server = await serveUpgrades((upgrade, query) =>
      relayRemoteCommand(upgrade, { url: `${kubelet.url}/?${query.toString()}` }, { ...all, clock }),
    );
    const stdout = new PassThrough();
    const expected = await digestOf(megabytes(20));

    const [result, digest] = await Promise.all([
      runRemoteCommand(
        { url: `${server.url}/?exit=3` },
        { transport, clock, stdin: Readable.from(megabytes(20)), stdout, stderr: collect().stream },
      ).finally(() => stdout.end()),
      digestOf(stdout),
    ]);

    expect(result).toEqual({
      exitCode: 3,
      status: {
        metadata: {},
        status: "Failure",
        reason: "NonZeroExitCode",
        message: "command terminated with non-zero exit code: exit status 3",
        details: { causes: [{ reason: "ExitCode", message: "3" }] },
      },
    });
    expect(digest).toBe(expected);
    await eventually(() => expect(kubelet.sockets.size).toBe(0));
  });

  test("through a proxy that copies bytes", async () => {
    await using kubelet = await serveCommand(echo);
    await using server = await serveUpgrades(async (upgrade, query) =>
      proxyUpgrade(upgrade, { url: `${kubelet.url}/?${query.toString()}` }, { clock }),
    );
    const stdout = collect();

    const result = await runRemoteCommand(
      { url: `${server.url}/?exit=7` },
      { transport, clock, stdin: input("through"), stdout: stdout.stream, stderr: collect().stream },
    );

    expect(result).toMatchObject({ exitCode: 7 });
    expect(stdout.text()).toBe("through");
    await eventually(() => expect([kubelet.sockets.size, server.sockets.size]).toEqual([0, 0]));
  });
});

test.each([
  ["v4.channel.k8s.io", 3],
  ["v3.channel.k8s.io", undefined],
  ["v2.channel.k8s.io", undefined],
  ["channel.k8s.io", undefined],
])("SPDY in version %s tells a failure as that version does", async (version, exitCode) => {
  await using server = await serveCommand(echo);
  const target = { url: `${server.url}/?exit=3` };
  const stdout = collect();

  const result = await runRemoteCommandOver(await dialSpdy(target, [version], { clock }), {
    clock,
    stdin: input("x"),
    stdout: stdout.stream,
    stderr: collect().stream,
  });

  const words = "command terminated with non-zero exit code: exit status 3";
  expect(result).toMatchObject(exitCode === undefined ? { error: words } : { exitCode });
  expect(stdout.text()).toBe("x");
});

test.each([
  ["v5.channel.k8s.io", "binary"],
  ["v4.channel.k8s.io", "binary"],
  ["v4.base64.channel.k8s.io", "base64"],
  ["channel.k8s.io", "binary"],
  ["base64.channel.k8s.io", "base64"],
  ["", "binary"],
])("a WebSocket client of another make speaks %j", async (protocol, codec) => {
  await using server = await serveCommand(async ({ stdin, stdout }) => {
    const [chunk] = await once(stdin ?? new PassThrough(), "data");
    stdout?.write(chunk);
    return { exitCode: 7 };
  });
  const webSocket = new WebSocket(server.url.replace("http", "ws"), protocol === "" ? [] : [protocol]);
  webSocket.binaryType = "arraybuffer";
  const messages: string[] = [];
  const decode = (data: string | ArrayBuffer): string => {
    if (typeof data === "string") return data.slice(0, 1) + Buffer.from(data.slice(1), "base64").toString();
    const bytes = Buffer.from(data);
    return `${bytes[0]}${bytes.toString("utf8", 1)}`;
  };
  webSocket.addEventListener("message", ({ data }) => messages.push(decode(data as string | ArrayBuffer)));
  const closed = once(webSocket, "close") as Promise<[CloseEvent]>;
  await once(webSocket, "open");

  webSocket.send(codec === "base64" ? `0${Buffer.from("hi").toString("base64")}` : Buffer.from("\0hi"));
  const [{ code }] = await closed;

  expect(webSocket.protocol).toBe(protocol);
  expect(code).toBe(1000);
  const [greeting, output, status, ...more] = messages;
  expect([greeting, output, more]).toEqual(["1", "1hi", []]);
  const words = "command terminated with non-zero exit code: exit status 7";
  if (/^v[45]/.test(protocol)) expect(JSON.parse(status?.slice(1) ?? "")).toMatchObject({ status: "Failure", message: words });
  else expect(status).toBe(`3${words}`);
});

test("a WebSocket of the first version says nothing on the channels of errors when all went well", async () => {
  await using server = await serveCommand(() => Promise.resolve({ exitCode: 0 }));
  const webSocket = new WebSocket(server.url.replace("http", "ws"), ["channel.k8s.io"]);
  webSocket.binaryType = "arraybuffer";
  const messages: string[] = [];
  webSocket.addEventListener("message", ({ data }) => messages.push(Buffer.from(data as ArrayBuffer).toString("hex")));

  await once(webSocket, "close");

  expect(messages).toEqual(["01"]);
});

test("a client whose transport is refused tries SPDY", async () => {
  await using server = await serveUpgrades(async (upgrade) => {
    if (upgrade.request.headers.upgrade === "websocket")
      return void upgrade.socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    const session = await acceptRemoteCommand(upgrade, { ...all, clock });
    await session.finish({ exitCode: 5 });
  });

  const result = await runRemoteCommand(
    { url: server.url },
    { clock, stdin: input(""), stdout: collect().stream, stderr: collect().stream },
  );

  expect(result).toMatchObject({ exitCode: 5 });
});

test("a refusal reaches the client through a proxy word for word", async () => {
  await using kubelet = await serveUpgrades((upgrade) => acceptRemoteCommand(upgrade, { ...all, clock }));
  await using server = await serveUpgrades((upgrade) => proxyUpgrade(upgrade, { url: kubelet.url }, { clock }));
  const refused = dialSpdy({ url: server.url }, ["v9.channel.k8s.io"], { clock });

  const error: unknown = await refused.catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(UpgradeRefusedError);
  expect(error).toMatchObject({
    statusCode: 403,
    code: "VK_FORBIDDEN",
    body:
      "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], " +
      "server accepts [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]",
  });
});

test("a relay tells the client of a kubelet that cannot be reached as the command's result", async () => {
  await using server = await serveUpgrades((upgrade) => relayRemoteCommand(upgrade, { url: "http://127.0.0.1:1/exec" }, { ...all, clock }));

  const result = await runRemoteCommand(
    { url: server.url },
    { transport: "websocket", clock, stdin: input(""), stdout: collect().stream, stderr: collect().stream },
  );

  expect(result).toMatchObject({ error: expect.stringContaining("ECONNREFUSED"), status: { reason: "InternalError" } });
});

test("a client that dies behind a relay is told to the kubelet", async () => {
  const begun = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  await using kubelet = await serveCommand(async ({ signal, closed }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    begun.resolve();
    await closed;
    return { exitCode: 0 };
  });
  await using server = await serveUpgrades((upgrade) => relayRemoteCommand(upgrade, { url: kubelet.url }, { ...all, clock }));
  const client = new AbortController();
  const running = runRemoteCommand(
    { url: server.url },
    { clock, stdin: new PassThrough(), stdout: collect().stream, stderr: collect().stream, signal: client.signal },
  );
  running.catch(() => undefined);
  await begun.promise;

  client.abort(new Error("^C"));

  await aborted.promise;
  await expect(running).rejects.toThrow("^C");
});

test("a command that has begun is not run again over SPDY, whatever its result looks like", async () => {
  let requests = 0;
  await using server = await serveUpgrades(async (upgrade) => {
    requests++;
    const session = await acceptRemoteCommand(upgrade, { ...all, clock });
    await session.finish({ error: "x".repeat(100_000) });
  });

  const running = runRemoteCommand({ url: server.url }, { clock, stdin: input(""), stdout: collect().stream, stderr: collect().stream });

  await expect(running).rejects.toThrow("its result is longer than 65536 bytes");
  expect(requests).toBe(1);
});

test.each(["spdy", "websocket"] as const)("a server that never answers is given up after thirty seconds over %s", async (transport) => {
  const manual = new VirtualClock();
  await using server = await serveUpgrades(({ socket }) => {
    socket.resume().once("end", () => void socket.end());
    return Promise.resolve();
  });
  const running = runRemoteCommand({ url: server.url }, { transport, clock: manual, stdout: collect().stream });
  running.catch(() => undefined);
  await eventually(() => expect(server.sockets.size).toBe(1));

  await manual.advance(30_000);

  await expect(running).rejects.toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringContaining("no answer") });
  expect(manual.pending).toBe(0);
  await eventually(() => expect(server.sockets.size).toBe(0));
});
