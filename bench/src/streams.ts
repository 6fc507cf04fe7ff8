/**
 * Compares commands and logs through a virtual node's server with the same streaming code called directly, in alternating rounds:
 * round trip of an echo, throughput, and the resources of streams that are stalled, followed by many clients, or closed.
 *
 * Usage, without the other benchmarks: streams.ts [--rounds 3] [--megabytes 100] [--no-guide]
 */
import { systemClock as clock } from "@virtual-kubelet/clock";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { runRemoteCommand } from "@virtual-kubelet/streaming";
import { circumstances } from "./circumstances.ts";
import type { StreamFigures, StreamReport, Transport } from "./figures.ts";
import { writeStreams } from "./guide.ts";
import { median } from "./median.ts";
import { runBenchmark } from "./run-benchmark.ts";
import type { StreamServerAccess, StreamServerFigures } from "./stream-server.ts";

const transports: readonly Transport[] = ["spdy", "websocket"];
/** Size of the measurement. */
export interface StreamLoad {
  readonly rounds: number;
  /** Size of one output. */
  readonly megabytes: number;
}

/** Round trips per round. */
const echoes = 400;
/** Streams with a stalled reader, and streams opened before them, because the first streams fill buffers that every server has. */
const stalled = { streams: 150, before: 50 };

/** Measures both servers; takes about a minute. */
export async function measureStreams({ rounds, megabytes }: StreamLoad): Promise<StreamReport> {
  await using node = await StreamServer.start("node");
  await using direct = await StreamServer.start("direct");
  const measured = [node, direct].map((server) => ({ server, figures: [] as StreamFigures[] }));
  // The first round is a warm-up.
  for (let round = -1; round < rounds; round++) {
    for (const { server, figures } of round % 2 === 0 ? measured : measured.toReversed()) {
      const one = await figuresOf(server, megabytes * 1e6);
      if (round >= 0) figures.push(one);
    }
  }
  const [ofNode, ofDirect] = measured.map(({ figures }) => medians(figures));
  if (ofNode === undefined || ofDirect === undefined) throw new Error("a server was not measured");
  const closed = await openAndClose(node, 1_000);
  return {
    circumstances: `${circumstances()}; ${String(megabytes)} MB an output, ${String(rounds)} rounds, medians.`,
    node: ofNode,
    direct: ofDirect,
    closed,
    follows: await follow(node, 500),
    stalledMiB: {
      spdy: await stall((server, signal) => execStalled(server, "spdy", signal)),
      websocket: await stall((server, signal) => execStalled(server, "websocket", signal)),
      log: await stall(logStalled),
    },
  };
}

/** A server in its own process. */
class StreamServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #access: StreamServerAccess;

  private constructor(child: ChildProcess, access: StreamServerAccess) {
    this.#child = child;
    this.#access = access;
  }

  static async start(kind: "node" | "direct"): Promise<StreamServer> {
    const execArgv = ["--conditions=@virtual-kubelet/source", "--disable-warning=ExperimentalWarning", "--expose-gc"];
    const child = fork(join(import.meta.dirname, "stream-server.ts"), [kind], { execArgv });
    const [access] = (await Promise.race([
      once(child, "message"),
      once(child, "exit").then(([code]) => {
        throw new Error(`the stream server (${kind}) ended with code ${String(code)} before it listened`);
      }),
    ])) as [StreamServerAccess];
    return new StreamServer(child, access);
  }

  get tls(): { readonly ca: string; readonly cert: string; readonly key: string } {
    const { ca, cert, key } = this.#access;
    return { ca, cert, key };
  }

  url(path: string): string {
    return this.#access.url + path;
  }

  async figures(): Promise<StreamServerFigures> {
    this.#child.send("figures");
    const [figures] = (await once(this.#child, "message")) as [StreamServerFigures];
    return figures;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}

async function figuresOf(server: StreamServer, bytes: number): Promise<StreamFigures> {
  const echoMs = { spdy: await echo(server, "spdy"), websocket: await echo(server, "websocket") };
  const stdoutMBs = { spdy: await print(server, "spdy", bytes), websocket: await print(server, "websocket", bytes) };
  return { echoMs, stdoutMBs, logMBs: await readLog(server, bytes) };
}

function medians(all: readonly StreamFigures[]): StreamFigures {
  const of = (pick: (one: StreamFigures) => number): number => median(all.map(pick));
  return {
    echoMs: { spdy: of(({ echoMs }) => echoMs.spdy), websocket: of(({ echoMs }) => echoMs.websocket) },
    stdoutMBs: { spdy: of(({ stdoutMBs }) => stdoutMBs.spdy), websocket: of(({ stdoutMBs }) => stdoutMBs.websocket) },
    logMBs: of(({ logMBs }) => logMBs),
  };
}

function execTarget(server: StreamServer, query: string): { readonly url: string; readonly tls: StreamServer["tls"] } {
  return { url: server.url(`/exec/default/web/main?${query}`), tls: server.tls };
}

/** Sends 64 bytes repeatedly, each time after the previous bytes have returned. @returns median in ms */
async function echo(server: StreamServer, transport: Transport): Promise<number> {
  const stdin = new PassThrough();
  const times: number[] = [];
  const message = Buffer.alloc(64, "e");
  let missing = 0;
  let sentAt = 0;
  const send = (): void => {
    if (times.length === echoes) return void stdin.end();
    missing = message.length;
    sentAt = performance.now();
    stdin.write(message);
  };
  const stdout = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      missing -= chunk.length;
      if (missing === 0) {
        times.push(performance.now() - sentAt);
        send();
      }
      done();
    },
  });
  const running = runRemoteCommand(execTarget(server, "command=echo&input=1&output=1"), { transport, clock, stdin, stdout });
  send();
  await running;
  // The first round trips include opening the connection.
  return median(times.slice(echoes / 10));
}

/** @returns MB per second, including the time to connect */
async function print(server: StreamServer, transport: Transport, bytes: number): Promise<number> {
  let read = 0;
  const stdout = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      read += chunk.length;
      done();
    },
  });
  const began = performance.now();
  await runRemoteCommand(execTarget(server, `command=print&command=${String(bytes)}&output=1`), { transport, clock, stdout });
  if (read !== bytes) throw new Error(`${transport}: read ${String(read)} bytes of ${String(bytes)}`);
  return rate(bytes, began);
}

async function readLog(server: StreamServer, bytes: number): Promise<number> {
  const began = performance.now();
  const response = await openLog(server, `limitBytes=${String(bytes)}`);
  let read = 0;
  for await (const chunk of response) read += (chunk as Buffer).length;
  if (read !== bytes) throw new Error(`log: read ${String(read)} bytes of ${String(bytes)}`);
  return rate(bytes, began);
}

function rate(bytes: number, began: number): number {
  return bytes / 1e6 / ((performance.now() - began) / 1000);
}

/** Requests a log on its own connection. */
async function openLog(server: StreamServer, query: string, signal?: AbortSignal): Promise<IncomingMessage> {
  const request = get(server.url(`/containerLogs/default/web/main?${query}`), { ...server.tls, agent: false, signal });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  request.on("error", () => undefined);
  response.on("error", () => undefined);
  if (response.statusCode !== 200) throw new Error(`log: ${String(response.statusCode)}, expected 200`);
  return response;
}

async function openAndClose(server: StreamServer, streams: number): Promise<StreamReport["closed"]> {
  const runs = async (count: number): Promise<void> => {
    let next = 0;
    const one = async (): Promise<void> => {
      while (next < count) await print(server, transports[next++ % 2] ?? "spdy", 1_000);
    };
    await Promise.all(Array.from({ length: 20 }, one));
    await delay(500);
  };
  await runs(streams);
  const before = await server.figures();
  await runs(streams);
  const after = await server.figures();
  return { streams, openFiles: after.openFiles - before.openFiles, heapKiB: Math.round((after.heapBytes - before.heapBytes) / 1024) };
}

/** Follows a log with this number of clients for three seconds. */
async function follow(server: StreamServer, clients: number): Promise<StreamReport["follows"]> {
  const stop = new AbortController();
  const late: number[] = [];
  const heard = new Set<number>();
  let isCounting = false;
  for (let client = 0; client < clients; client++) {
    const response = await openLog(server, "follow=true", stop.signal);
    response.setEncoding("utf8").on("data", (text: string) => {
      if (!isCounting) return;
      heard.add(client);
      for (const line of text.trimEnd().split("\n")) late.push(Date.now() - Number(line));
    });
  }
  isCounting = true;
  await delay(3_000);
  isCounting = false;
  stop.abort();
  await delay(500);
  late.sort((a, b) => a - b);
  return { clients, silent: clients - heard.size, p99Ms: late[Math.floor(late.length * 0.99)] ?? Number.NaN };
}

/** Opens streams on a fresh server, which has no free memory that they could reuse. @returns MiB that each stream adds */
async function stall(open: (server: StreamServer, signal: AbortSignal) => Promise<unknown>): Promise<number> {
  await using server = await StreamServer.start("node");
  const stop = new AbortController();
  const openFull = async (count: number): Promise<StreamServerFigures> => {
    for (let stream = 0; stream < count; stream++) await open(server, stop.signal);
    // Waits until every buffer is full.
    await delay(2_000);
    return await server.figures();
  };
  const before = await openFull(stalled.before);
  const after = await openFull(stalled.streams);
  stop.abort(new Error("measured"));
  return Math.max(0, after.residentBytes - before.residentBytes) / 2 ** 20 / stalled.streams;
}

/** Starts a command that prints without end, and reads only its first output. */
async function execStalled(server: StreamServer, transport: Transport, signal: AbortSignal): Promise<void> {
  const first = Promise.withResolvers<void>();
  const stdout = new Writable({ highWaterMark: 1, write: () => first.resolve() });
  runRemoteCommand(execTarget(server, `command=print&command=${String(1e12)}&output=1`), { transport, clock, stdout, signal }).catch(
    (error: unknown) => first.reject(error as Error),
  );
  await first.promise;
}

async function logStalled(server: StreamServer, signal: AbortSignal): Promise<void> {
  (await openLog(server, `limitBytes=${String(1e12)}`, signal)).pause();
}

if (import.meta.main) await runBenchmark({ rounds: 3, megabytes: 100 }, measureStreams, writeStreams);
