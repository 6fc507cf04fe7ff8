import { systemClock } from "@virtual-kubelet/clock";
import {
  runRemoteCommand,
  openPortForward,
  UpgradeRefusedError,
  type RemoteCommandIO,
  type RemoteCommandResult,
} from "@virtual-kubelet/streaming";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { startKubeletServer } from "@virtual-kubelet/kubelet-api";
import { eventually } from "@virtual-kubelet/testing";
import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { chunks, KubeletRig, readToEnd } from "./support/kubelet-rig.ts";

const logs = "/containerLogs/default/web/main";

/** A log that stays open without output. */
const silence = (): AsyncIterable<string> => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });

/** Collects written data. */
class Collector extends Writable {
  text = "";
  bytes = 0;
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.bytes += chunk.length;
    if (this.text.length < 1_000_000) this.text += chunk.toString("latin1");
    done();
  }
}

/** Runs a command with streaming's client. */
async function exec(
  rig: KubeletRig,
  transport: "spdy" | "websocket",
  command: readonly string[],
  io: RemoteCommandIO & { readonly signal?: AbortSignal } = {},
): Promise<RemoteCommandResult> {
  const flags = { input: io.stdin, output: io.stdout, error: io.stderr, tty: io.tty };
  const query = [
    ...command.map((argument) => `command=${encodeURIComponent(argument)}`),
    ...Object.entries(flags).flatMap(([name, wanted]) => (wanted ? [`${name}=1`] : [])),
  ];
  return runRemoteCommand(rig.target(`/exec/default/web/main?${query.join("&")}`), { ...io, transport, clock: systemClock });
}

describe("logs", () => {
  test("come with what the options ask for", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    rig.containers.logs = () => ({
      timestamps: true,
      data: chunks("2026-03-01T10:00:00Z one\n2026-03-01T10:0", "0:01.5Z two\n2026-03-01T10:00:02Z three\n"),
      live: chunks("2026-03-01T10:00:03Z four\n"),
    });
    const table: readonly [string, string][] = [
      ["", "one\ntwo\nthree\n"],
      ["?tailLines=1", "three\n"],
      ["?tailLines=0", ""],
      ["?follow=true", "one\ntwo\nthree\nfour\n"],
      ["?follow=true&tailLines=0", "four\n"],
      ["?sinceTime=2026-03-01T10:00:02Z", "three\n"],
      ["?tailLines=2&sinceTime=2026-03-01T10:00:02Z", "three\n"],
      ["?limitBytes=6", "one\ntw"],
      ["?timestamps=true&tailLines=2", "2026-03-01T10:00:01.500000000Z two\n2026-03-01T10:00:02.000000000Z three\n"],
      ["?timestamps=true&tailLines=2&limitBytes=33", "2026-03-01T10:00:01.500000000Z tw"],
    ];

    for (const [query, expected] of table) expect(await rig.get(logs + query), query).toMatchObject({ status: 200, text: expected });
  });

  test("are refused with a kubelet's codes and words", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    rig.containers.logs = () => ({ data: chunks("no times\n") });
    const table: readonly [string, number, string][] = [
      ["/containerLogs/default/none/main", 404, 'pod "none" does not exist'],
      ["/containerLogs/default/web/none", 404, 'container "none" not found in pod "web"'],
      ["/containerLogs/default//main", 400, '{"message": "Missing podID."}'],
      ["/containerLogs//web/main", 400, '{"message": "Missing podNamespace."}'],
      [`${logs}?previous=true`, 400, 'previous terminated container "main" in pod "web" not found'],
      [`${logs}?tailLines=x`, 400, '{"message": "Unable to decode query."}'],
      [`${logs}?tailLines=-1`, 422, '{"message": "Invalid request."}'],
      [`${logs}?timestamps=1`, 400, 'container "main" in pod "web": the provider\'s logs have no times, so --timestamps is not possible'],
    ];

    for (const [path, status, text] of table) expect(await rig.get(path), path).toMatchObject({ status, text });
    expect((await rig.get(logs, { method: "POST" })).headers["allow"]).toBe("GET");
  });

  test("that are silent have their head at once, and end at the provider when the client goes", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    rig.containers.logs = () => ({ data: chunks(), live: silence() });
    const socket = await rig.connect();
    socket.write(`GET ${logs}?follow=true HTTP/1.1\r\nHost: x\r\n\r\n`);

    const [head] = await once(socket, "data");
    expect(String(head)).toMatch(/^HTTP\/1\.1 200 OK/);
    socket.destroy();

    await eventually(async () => expect(rig.containers.aborted).toEqual(["logs"]));
  });

  test("that break off say why, behind what came before", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    rig.containers.logs = () => ({
      data: (async function* () {
        yield "before\n";
        throw new Error("unable to retrieve container logs for test://1");
      })(),
    });

    expect(await rig.get(logs)).toMatchObject({ status: 200, text: "before\nunable to retrieve container logs for test://1\n" });
  });

  test("do not fill the memory when nobody reads them", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    let produced = 0;
    const block = Buffer.alloc(65_536, "x");
    rig.containers.logs = () => ({
      data: (async function* () {
        for (; produced < 1_000; produced++) yield block;
      })(),
    });
    const socket = await rig.connect();
    socket.pause();
    socket.write(`GET ${logs} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await eventually(async () => expect(produced).toBeGreaterThan(0));
    await delay(300);

    // The output is in the buffers of the sockets.
    expect(produced).toBeLessThan(200);
    socket.destroy();
  });
});

describe.each(["spdy", "websocket"] as const)("exec over %s", (transport) => {
  test("passes output, errors and the exit code", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    const [stdout, stderr] = [new Collector(), new Collector()];

    expect(await exec(rig, transport, ["both"], { stdout, stderr })).toMatchObject({ exitCode: 3 });

    expect([stdout.text, stderr.text]).toEqual(["to stdout\n", "to stderr\n"]);
    await eventually(async () =>
      expect(rig.lines).toContainEqual({
        message: "a pod was accessed",
        user: "alice",
        groups: ["testers"],
        verb: "exec",
        pod: "default/web",
        container: "main",
        program: "both",
        arguments: 0,
        result: "exit code 3",
        durationMs: expect.any(Number),
      }),
    );
    expect(rig.access.asked).toMatchObject([
      { verb: "create", subresources: ["proxy"], nodeName: "node-1", path: "/exec/default/web/main" },
    ]);
  });

  test("ends the command's input where the client's ends", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    const stdout = new Collector();

    expect(await exec(rig, transport, ["cat"], { stdin: Readable.from(["some ", "input"]), stdout })).toMatchObject({ exitCode: 0 });

    expect(stdout.text).toBe("some input");
  });

  test("passes the terminal's size", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    const stdout = new Collector();
    async function* sizes(): AsyncGenerator<{ width: number; height: number }> {
      yield { width: 101, height: 33 };
    }

    expect(await exec(rig, transport, ["size"], { stdout, tty: true, resizes: sizes() })).toMatchObject({ exitCode: 0 });

    expect(stdout.text).toBe("101x33");
  });

  test("passes 20 MB", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    const stdout = new Collector();

    expect(await exec(rig, transport, ["flood", "20000000"], { stdout })).toMatchObject({ exitCode: 0 });

    expect(stdout.bytes).toBe(20_000_000);
  });

  test("says what went wrong at the provider", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");

    expect(await exec(rig, transport, ["nonsense"], { stdout: new Collector() })).toMatchObject({
      error: expect.stringContaining("error executing command in container: no program nonsense"),
    });
  });

  test("ends the command when the client goes", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    const [client, stdout] = [new AbortController(), new Collector()];
    const running = exec(rig, transport, ["wait"], { stdout, signal: client.signal });
    await eventually(async () => expect(stdout.text).toBe("waiting\n"));

    client.abort(new Error("gone"));

    await expect(running).rejects.toThrow("gone");
    await eventually(async () => expect(rig.containers.aborted).toEqual(["exec"]));
    await eventually(async () => expect(rig.lines.at(-1)).toMatchObject({ verb: "exec", result: expect.stringContaining("ended early") }));
  });

  test("is refused before it is upgraded, in a kubelet's codes and words", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    const table: readonly [string, number, string, Record<string, string>?][] = [
      ["/exec/default/web/main?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"],
      ["/exec/default/web/main?command=%zz&output=1", 400, "400: Bad Request"],
      ["/exec/default/none/main?command=ls&output=1", 404, "pod does not exist"],
      ["/exec/default/web/other-uid/main?command=ls&output=1", 404, "pod does not exist"],
      ["/exec/default/web/none?command=ls&output=1", 500, 'container not found ("none")'],
      ["/attach/default/web/none?output=1", 500, "container none not found in pod web_default"],
      ["/exec/default/web/main?command=ls&output=1", 401, "Unauthorized", { "x-test": "stranger" }],
      ["/exec/default/web/main?command=ls&output=1", 401, "Unauthorized", { "x-test": "webhook-down" }],
    ];

    for (const [path, statusCode, text, headers] of table) {
      const refused = runRemoteCommand(rig.target(path, headers), { transport, stdout: new Collector(), clock: systemClock });
      const error: unknown = await refused.catch((reason: unknown) => reason);
      expect(error, path).toBeInstanceOf(UpgradeRefusedError);
      expect(error, path).toMatchObject({ statusCode, body: expect.stringContaining(text) });
    }
  });
});

describe("exec over the older WebSocket forms", () => {
  test.each(["v4.channel.k8s.io", "channel.k8s.io", ""])("%j: binary messages, a greeting, and 1000 at the end", async (protocol) => {
    await using rig = await KubeletRig.open();
    await rig.run("web");

    const { messages, code } = await readWebSocket(rig, "/exec/default/web/main?command=both&output=1&error=1", protocol);

    expect(messages.slice(0, 3)).toEqual(["\u0001", "\u0001to stdout\n", "\u0002to stderr\n"]);
    expect(messages.at(-1)).toContain("exit status 3");
    expect(code).toBe(1000);
  });

  test.each(["v4.base64.channel.k8s.io", "base64.channel.k8s.io"])("%j: text messages in base64", async (protocol) => {
    await using rig = await KubeletRig.open();
    await rig.run("web");

    const { messages } = await readWebSocket(rig, "/exec/default/web/main?command=both&output=1", protocol);

    expect(messages.slice(0, 2)).toEqual(["1", `1${Buffer.from("to stdout\n").toString("base64")}`]);
  });
});

async function readWebSocket(rig: KubeletRig, path: string, protocol: string): Promise<{ messages: string[]; code: number }> {
  const { url, tls } = rig.target(path);
  const socket = new WebSocket(url.replace("https:", "wss:"), protocol === "" ? [] : [protocol], tls);
  const messages: string[] = [];
  socket.on("message", (data: Buffer) => messages.push(data.toString("latin1")));
  const [code] = (await once(socket, "close")) as [number];
  return { messages, code };
}

describe("attach", () => {
  test("goes by the container's own terminal, and gives the input on", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web", { containers: [{ name: "main", image: "test", stdin: true, stdinOnce: true, tty: true }] });
    const stdout = new Collector();

    const result = await runRemoteCommand(rig.target("/attach/default/web/main?input=1&output=1"), {
      transport: "spdy",
      clock: systemClock,
      stdin: Readable.from(["hello"]),
      stdout,
    });

    expect(result).toMatchObject({ exitCode: 0 });
    expect(stdout.text).toBe("attached, tty true\nhello");
    expect(rig.containers.attachedInputs).toEqual(["hello"]);
  });

  test("keeps a container's input open for the next client unless it has stdinOnce", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web", { containers: [{ name: "main", image: "test", stdin: true }] });
    const [client, stdout] = [new AbortController(), new Collector()];
    const attached = runRemoteCommand(rig.target("/attach/default/web/main?input=1&output=1"), {
      transport: "spdy",
      clock: systemClock,
      stdin: Readable.from(["hello"]),
      stdout,
      signal: client.signal,
    });
    await eventually(async () => expect(stdout.text).toContain("hello"));

    client.abort(new Error("gone"));

    await expect(attached).rejects.toThrow("gone");
    await eventually(async () => expect(rig.containers.aborted).toEqual(["attach"]));
    expect(rig.containers.attachedInputs).toEqual([]);
  });
});

describe.each(["spdy", "websocket"] as const)("port-forward over %s", (transport) => {
  test("passes bytes both ways, with an end each, on several connections", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    await using session = await openPortForward(rig.target("/portForward/default/web"), { transport, clock: systemClock });

    const answers = await Promise.all(
      ["one", "two", "three"].map(async (text) => {
        const stream = await session.open(80);
        stream.end(text);
        return (await stream.toArray()).join("");
      }),
    );

    expect(answers).toEqual(["one", "two", "three"]);
  });

  test("says which port cannot be reached", async () => {
    await using rig = await KubeletRig.open();
    const pod = await rig.run("web");
    await using session = await openPortForward(rig.target("/portForward/default/web"), { transport, clock: systemClock });

    const stream = await session.open(81);
    const [error] = (await once(stream, "error").catch((reason: unknown) => [reason])) as [Error];

    expect(error.message).toContain(`error forwarding port 81 to pod ${pod.metadata?.uid}, uid : connect to port 81: connection refused`);
  });
});

test("port-forward over the oldest WebSocket form takes its ports from the query", async () => {
  await using rig = await KubeletRig.open();
  await rig.run("web");
  const { url, tls } = rig.target("/portForward/default/web?port=80");
  const socket = new WebSocket(url.replace("https:", "wss:"), ["v4.channel.k8s.io"], tls);
  const messages: string[] = [];
  socket.on("message", (data: Buffer) => messages.push(data.toString("latin1")));
  await once(socket, "open");

  socket.send(Buffer.from("\0ping"));
  await eventually(async () => expect(messages).toEqual(["\0\u0050\0", "\u0001\u0050\0", "\0ping"]));
  socket.close();

  await expect(openPortForward(rig.target("/portForward/default/none"), { transport: "spdy", clock: systemClock })).rejects.toMatchObject({
    statusCode: 404,
  });
});

test("run answers with what the command wrote", async () => {
  await using rig = await KubeletRig.open();
  await rig.run("web");

  expect(await rig.get("/run/default/web/main?cmd=flood+5", { method: "POST" })).toMatchObject({ status: 200, text: "xxxxx" });
  expect(await rig.get("/run/default/web/main?cmd=exit+2", { method: "POST" })).toMatchObject({ status: 500 });
  expect(await rig.get("/run/default/web/main?cmd=exit+2")).toMatchObject({ status: 405 });
  expect(rig.access.asked.map(({ verb }) => verb)).toEqual(["create", "create", "create"]);
});

describe("what is measured and listed", () => {
  test("comes in a kubelet's forms", async () => {
    await using rig = await KubeletRig.open();
    const pod = await rig.run("web");
    const podRef = { name: "web", namespace: "default", uid: pod.metadata?.uid ?? "" };
    const time = "2026-03-01T10:00:00Z";
    const cpu = { time, usageCoreNanoSeconds: 2_000_000_000, usageNanoCores: 5 };
    const memory = { time, workingSetBytes: 1024 };
    rig.containers.stats = { pods: [{ podRef, startTime: time, containers: [{ name: "main", startTime: time, cpu, memory }] }] };

    expect(JSON.parse((await rig.get("/stats/summary")).text)).toMatchObject({
      node: { nodeName: "node-1" },
      pods: [{ podRef, cpu: { usageCoreNanoSeconds: 2_000_000_000 } }],
    });
    expect((await rig.get("/metrics/resource")).text).toContain(
      'container_cpu_usage_seconds_total{container="main",pod="web",namespace="default"} 2 1772359200000\n',
    );
    expect((await rig.get("/metrics/cadvisor")).text).toMatch(
      /^container_memory_working_set_bytes\{container="main",.*pod="web",?.*\} 1024 1772359200000$/m,
    );
    expect((await rig.get("/metrics")).text).toBe("own 1\n");
    expect((await rig.get("/metrics/slis")).text).toContain('kubernetes_healthcheck{name="ping",type="healthz"} 1');
    expect(JSON.parse((await rig.get("/pods")).text)).toMatchObject({
      kind: "PodList",
      items: [{ metadata: { name: "web" }, status: { phase: "Running" } }],
    });
    for (const path of ["/runningpods/", "/runningpods"])
      expect(JSON.parse((await rig.get(path)).text)).toMatchObject({
        items: [{ metadata: podRef, spec: { containers: [{ name: "main" }] } }],
      });
  });

  test("says so where the provider fails", async () => {
    await using rig = await KubeletRig.open();
    rig.containers.stats = new Error("the back end is away");

    expect(await rig.get("/stats/summary")).toMatchObject({ status: 500, text: "Internal Error: the back end is away" });
    expect((await rig.get("/metrics/resource")).text).toContain("resource_scrape_error 1");
  });

  test("is refused where a node without a machine has nothing", async () => {
    await using rig = await KubeletRig.open();
    const table: readonly [string, string, number][] = [
      ["GET", "/logs/", 405],
      ["GET", "/logs/kubelet.log", 405],
      ["GET", "/debug/pprof/heap", 405],
      ["PUT", "/debug/flags/v", 405],
      ["POST", "/checkpoint/default/web/main", 404],
      ["GET", "/flagz", 404],
      ["GET", "/statusz", 404],
      ["GET", "/spec", 404],
      ["DELETE", "/pods", 405],
      ["HEAD", "/pods", 405],
      ["GET", "/healthz/ping", 200],
      ["HEAD", "/healthz", 200],
      ["GET", "/configz", 200],
      ["GET", "/metrics/probes", 200],
    ];

    for (const [method, path, status] of table) expect(await rig.get(path, { method }), `${method} ${path}`).toMatchObject({ status });
  });
});

describe("a port that several nodes share", () => {
  test("finds pods on any of them, and wants a prefix for what is one node's", async () => {
    await using rig = await KubeletRig.open({ nodes: ["node-1", "node-2"] });
    await rig.run("web");
    await rig.run("db", { nodeName: "node-2" });
    rig.containers.logs = () => ({ data: chunks("line\n") });

    expect(await rig.get("/containerLogs/default/db/main")).toMatchObject({ status: 200, text: "line\n" });
    expect(await rig.get("/nodes/node-2/containerLogs/default/db/main")).toMatchObject({ status: 200, text: "line\n" });
    expect(await rig.get("/nodes/node-1/containerLogs/default/db/main")).toMatchObject({ status: 404 });
    expect(await rig.get("/pods")).toMatchObject({ status: 404, text: "404: several nodes share this port: ask for /nodes/NAME/pods" });
    expect(JSON.parse((await rig.get("/nodes/node-2/pods")).text)).toMatchObject({ items: [{ metadata: { name: "db" } }] });
    expect(await rig.get("/nodes/node-1/stats/summary")).toMatchObject({ status: 200 });
    expect(await rig.get("/nodes/node-9/pods")).toMatchObject({ status: 404, text: "404: node node-9 is not served here" });
    expect(rig.access.asked.map(({ nodeName }) => nodeName)).toEqual([
      "node-2",
      "node-2",
      "node-1",
      "node-1",
      "node-2",
      "node-1",
      "node-9",
    ]);
  });
});

describe("who cannot behave", () => {
  test("is told so with 4xx, and harms nobody", async () => {
    await using rig = await KubeletRig.open();
    const table: readonly [string, string][] = [
      ["GET /pods/%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400"],
      ["GET /containerLogs/..%2f..%2fetc/passwd/x HTTP/1.1\r\nHost: x\r\n\r\n", "400"],
      ["GET /containerLogs/a%00b/c/d HTTP/1.1\r\nHost: x\r\n\r\n", "400"],
      ["GET //pods HTTP/1.1\r\nHost: x\r\n\r\n", "404"],
      [`GET /pods?${"x".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, "414"],
      [`GET /pods HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(70_000)}\r\n\r\n`, "431"],
      [`GET /pods HTTP/1.1\r\nHost: x\r\n${"X: 1\r\n".repeat(1_000)}\r\n`, "431"],
      ["BREW /pods HTTP/1.1\r\nHost: x\r\n\r\n", "400"],
      ["GET /pods HTTP/9.9\r\n\r\n", "400"],
      ["\0\0\0\0", "400"],
      ["POST /exec/default/web/main?output=1&command=ls HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", "404"],
      ["POST /exec/%zz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", "400"],
      ["GET /pods HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n", "200"],
      ["POST /exec/default/web/main?output=1&command=ls HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "404"],
    ];

    for (const [bytes, status] of table) {
      const socket = await rig.connect();
      let answer = "";
      socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1"))).on("error", () => {});
      socket.write(bytes, "latin1");
      await eventually(async () => expect(answer.slice(9, 12), bytes.slice(0, 60)).toBe(status));
      socket.destroy();
    }
    expect((await rig.get("/healthz")).text).toBe("ok");
  });

  test("cannot hold the server up by sending slowly, or nothing", async () => {
    await using rig = await KubeletRig.open({ limits: { headersTimeoutMs: 2_000, handshakeTimeoutMs: 60_000 } });
    const slow = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const socket = await rig.connect();
        if (index % 2 === 0) socket.write("GET /pods HTTP/1.1\r\nHost: x\r\nX-Slow: ");
        return readToEnd(socket);
      }),
    );

    expect(new Set(slow.map((answer) => answer.slice(0, 12)))).toEqual(new Set(["HTTP/1.1 408"]));
    expect((await rig.get("/healthz")).status).toBe(200);
  });

  test("cannot hold the server up with a body that never ends", async () => {
    await using rig = await KubeletRig.open({ limits: { headersTimeoutMs: 2_000, requestTimeoutMs: 3_000 } });
    await rig.run("web");
    const socket = await rig.connect();
    socket.write("POST /run/default/web/main?cmd=both HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx");

    await readToEnd(socket);

    expect((await rig.get("/healthz")).status).toBe(200);
  });

  test("is refused with a TLS of before 1.2", async () => {
    await using rig = await KubeletRig.open();
    const socket = connectPlain(rig.port, "127.0.0.1");
    const random = "00".repeat(32);
    const hello = `0302${random}00000400 2f00350100`.replaceAll(" ", "");
    const handshake = `010000${(hello.length / 2).toString(16).padStart(2, "0")}${hello}`;

    socket.write(Buffer.from(`160301${(handshake.length / 2).toString(16).padStart(4, "0")}${handshake}`, "hex"));

    const [alert] = (await once(socket, "data")) as [Buffer];
    // Fatal alert protocol_version.
    expect([alert[0], alert[5], alert[6]]).toEqual([21, 2, 70]);
    socket.destroy();
  });

  test("is refused who would change the terms of a connection that stands: TLS 1.2's renegotiation", async () => {
    await using rig = await KubeletRig.open();
    const { tls } = rig.target("/healthz");
    const socket = connectTls({ host: "127.0.0.1", port: rig.port, maxVersion: "TLSv1.2", ...tls });
    await once(socket, "secureConnect");

    const outcome = await new Promise<string | undefined>((resolve) => {
      socket.once("error", (error: Error & { readonly code?: string }) => resolve(error.code));
      socket.renegotiate({}, (error) => resolve(error === null ? "renegotiated" : error.message));
    });

    expect(outcome).toBe("ERR_SSL_NO_RENEGOTIATION");
    expect((await rig.get("/healthz")).status).toBe(200);
    socket.destroy();
  });

  test("is not taken for one who is slow because the connection was idle", async () => {
    await using rig = await KubeletRig.open({ limits: { headersTimeoutMs: 2_000 } });
    const socket = await rig.connect();
    for (let round = 0; round < 2; round++) {
      if (round > 0) await delay(3_500);
      socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
      const [answer] = await once(socket, "data");
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200/);
    }
    socket.destroy();
  });

  test("loses the oldest of the connections a stranger may have to the next caller of that address, whoever it is", async () => {
    await using rig = await KubeletRig.open({ limits: { maxUnauthorizedPerAddress: 2 } });
    const strangers = [await rig.connect(), await rig.connect()];

    expect((await rig.get("/healthz")).status).toBe(200);

    const [oldest, other] = strangers;
    expect(await readToEnd(oldest!)).toBe("");
    other?.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(String(await once(other!, "data"))).toContain("200 OK");
    other?.destroy();
    expect(rig.lines).toContainEqual(expect.objectContaining({ limit: "maxUnauthorizedPerAddress", max: 2 }));
  });

  test("loses it also where TLS never comes about", async () => {
    await using rig = await KubeletRig.open({ limits: { maxUnauthorizedPerAddress: 2 } });
    const silent = [connectPlain(rig.port, "127.0.0.1"), connectPlain(rig.port, "127.0.0.1")];
    await Promise.all(
      silent.map((socket) =>
        once(
          socket.on("error", () => {}),
          "connect",
        ),
      ),
    );
    const [oldest] = silent;
    const closed = once(oldest!.resume(), "close");

    expect((await rig.get("/healthz")).status).toBe(200);

    await closed;
    for (const socket of silent) socket.destroy();
  });

  test("cannot fill the memory with requests that are sent ahead", async () => {
    await using rig = await KubeletRig.open();
    const waiting = Promise.withResolvers<undefined>();
    let asked = 0;
    rig.access.authenticate = async () => {
      asked++;
      return waiting.promise;
    };

    const socket = await rig.connect();
    socket.on("error", () => {});
    socket.write("GET /pods HTTP/1.1\r\nHost: x\r\n\r\n".repeat(10_000));
    await new Promise((closed) => socket.once("close", closed));

    expect(asked).toBeLessThanOrEqual(16);
    waiting.resolve(undefined);
  });

  test("cannot have a connection become something else while a request is answered on it", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    rig.containers.logs = () => ({ data: chunks("begun\n"), live: silence() });
    const socket = await rig.connect();
    socket.write("GET /containerLogs/default/web/main?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(socket, "data");

    const upgrade = ["Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io"].join("\r\n");
    socket.write(`POST /exec/default/web/main?command=wait&output=1 HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n\r\n`);

    expect(await readToEnd(socket)).not.toContain("101");
    await eventually(async () => expect(rig.containers.aborted).toEqual(["logs"]));
  });

  test("leaves nothing behind of requests whose turn had not come", async () => {
    await using rig = await KubeletRig.open();
    await rig.run("web");
    rig.containers.logs = () => ({ data: chunks("begun\n"), live: silence() });
    const socket = await rig.connect();
    socket.write(`GET ${logs}?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(3));
    await once(socket, "data");

    socket.destroy();

    await eventually(async () => expect(rig.containers.aborted).toEqual(["logs", "logs", "logs"]));
  });

  test("gets no answer without TLS, and one line in the log a minute", async () => {
    await using rig = await KubeletRig.open();
    for (let round = 0; round < 5; round++) {
      const socket = connectPlain(rig.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write("GET /pods HTTP/1.1\r\nHost: x\r\n\r\n");
      const chunksRead: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunksRead.push(chunk));
      await once(socket, "close");
      expect(Buffer.concat(chunksRead).toString("latin1")).not.toContain("HTTP/1.1 200");
    }

    expect(rig.lines.filter(({ message }) => message === "a TLS handshake failed")).toHaveLength(1);
    expect((await rig.get("/healthz")).status).toBe(200);
  });
});

test("every Host header is accepted without a redirect; lists are compressed, and logs are not", async () => {
  await using rig = await KubeletRig.open();
  await rig.run("web");
  rig.containers.logs = () => ({ data: chunks("line\n".repeat(1_000)) });

  // The API server forwards its client's Host header and requests gzip itself.
  const compressed = ["/pods", "/runningpods", "/runningpods/"];
  for (const path of [...compressed, "/metrics", "/healthz/", logs, `${logs}?follow=true`]) {
    const head = `GET ${path} HTTP/1.1\r\nHost: kubernetes.default.svc\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`;
    const answer = await rig.raw(head);
    expect(answer, path).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer, path).not.toMatch(/^location:/im);
    expect(/^content-encoding: gzip\r$/im.test(answer), path).toBe(compressed.includes(path));
  }
});

test("only HTTP/1.1 is spoken", async () => {
  await using rig = await KubeletRig.open();
  const socket = await rig.connect();

  expect(socket.alpnProtocol).toBe("http/1.1");
  socket.destroy();
});

test("a new certificate is used for new connections, and one that cannot be used is not", async () => {
  await using rig = await KubeletRig.open();
  const before = await rig.connect();
  const subject = async (): Promise<unknown> => {
    const socket = await rig.connect();
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  };

  rig.replaceCertificate(rig.issue("second"));
  expect(await subject()).toBe("second");
  rig.replaceCertificate({ ...rig.issue("third"), key: rig.issue("other").key });
  expect(await subject()).toBe("second");

  before.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(String((await once(before, "data"))[0])).toContain("200 OK");
  before.destroy();
});

test("a certificate that cannot be used is an error at once, and so is a server without nodes", async () => {
  await using rig = await KubeletRig.open();
  const tls = { ...rig.issue("localhost"), key: rig.issue("other").key };
  const certificate = { current: () => tls, onChange: () => ({ [Symbol.dispose]() {} }) };
  const options = { host: "127.0.0.1", port: 0, accessControl: rig.access, certificate };

  await expect(startKubeletServer({ ...options, nodes: rig.nodes })).rejects.toSatisfy(isInvalidInput);
  await expect(startKubeletServer({ ...options, nodes: [] })).rejects.toSatisfy(isInvalidInput);
});

test("stopping ends what is open, and tells the client", async () => {
  const rig = await KubeletRig.open({ limits: { shutdownMs: 60_000 } });
  await rig.run("web");
  const stdout = new Collector();
  const running = exec(rig, "spdy", ["wait"], { stdout });
  await eventually(async () => expect(stdout.text).toBe("waiting\n"));

  await rig[Symbol.asyncDispose]();

  expect(await running).toMatchObject({ error: expect.stringContaining("the node's server is stopping") });
});

test("stopping does not wait for connections that never become any", async () => {
  const rig = await KubeletRig.open({ limits: { handshakeTimeoutMs: 600_000 } });
  const silent = connectPlain(rig.port, "127.0.0.1");
  silent.on("error", () => {});
  await once(silent, "connect");
  await rig.get("/healthz");
  const startedMs = performance.now();

  await rig[Symbol.asyncDispose]();

  expect(performance.now() - startedMs).toBeLessThan(60_000);
  if (!silent.closed) await once(silent, "close");
});
