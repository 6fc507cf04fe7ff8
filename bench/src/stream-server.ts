/**
 * A server of logs and commands in its own process: `node` is a virtual node's server with its access control, and `direct` is the
 * same streaming code over TLS without it. The process generates all data itself.
 *
 * Usage: fork("stream-server.ts", ["node" | "direct"]); it sends a {@link StreamServerAccess}, and answers each message with
 * {@link StreamServerFigures}.
 */
import { systemClock as clock, systemRandom as random } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { NodeAccess, type AttachIO, type ContainerLogOptions, type ContainerLogs, type ExecResult } from "@virtual-kubelet/core";
import { noMetrics, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { createAccessControl, startKubeletServer, type ClientCa } from "@virtual-kubelet/kubelet-api";
import { acceptRemoteCommand } from "@virtual-kubelet/streaming";
import { createCertificateAuthority } from "@virtual-kubelet/pki";

/** Address and credentials of a server. */
export interface StreamServerAccess {
  readonly url: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Resources that a server's process holds after garbage collection. */
export interface StreamServerFigures {
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly openFiles: number;
}

const block = Buffer.from(`${"x".repeat(127)}\n`.repeat(512));
const authority = createCertificateAuthority("bench");
const own = authority.issue({ commonName: "server", names: ["127.0.0.1"], usages: ["server auth"] });
const client = authority.issue({ commonName: "kube-apiserver", organizations: ["system:masters"], usages: ["client auth"] });

const port = process.argv[2] === "node" ? await serveNode() : await serveDirectly();
const access: StreamServerAccess = {
  url: `https://127.0.0.1:${String(port)}`,
  ca: authority.certificate,
  cert: client.certificate,
  key: client.key,
};
process.send?.(access);
process.on("message", () => process.send?.(figures()));
process.once("disconnect", () => process.exit());

function figures(): StreamServerFigures {
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { residentBytes: rss, heapBytes: heapUsed, openFiles: readdirSync("/proc/self/fd").length };
}

/** Command `echo` copies its input to its output; `print N` writes N bytes. */
async function run([program, count = "0"]: readonly string[], { stdin, stdout }: Pick<AttachIO, "stdin" | "stdout">): Promise<ExecResult> {
  if (stdout && program === "echo" && stdin) await pipeline(stdin, stdout, { end: false });
  if (stdout && program === "print") await pipeline(Readable.from(blocks(Number(count))), stdout, { end: false });
  return { exitCode: 0 };
}

function* blocks(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= block.length) yield left < block.length ? block.subarray(0, left) : block;
}

/** Ten lines per second, each with the time of writing in milliseconds. */
async function* ticks(signal: AbortSignal): AsyncGenerator<string> {
  while (!signal.aborted) {
    await delay(100, undefined, { signal }).catch(() => undefined);
    yield `${String(Date.now())}\n`;
  }
}

async function serveNode(): Promise<number> {
  const access = new NodeAccess({ nodeName: "bench", providerName: "bench", metrics: noMetrics });
  const unused = (): never => {
    throw new Error("the stream server has no pods to manage");
  };
  const getContainerLogs = (_pod: unknown, _name: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> =>
    Promise.resolve({
      data: Readable.from(options.follow ? [] : blocks(options.limitBytes ?? 0)),
      ...(options.follow && { live: ticks(signal) }),
    });
  access.open({
    provider: {
      createPod: unused,
      updatePod: unused,
      deletePod: unused,
      getPod: unused,
      getPodStatus: unused,
      getPods: unused,
      runInContainer: (_pod, _name, command, io) => run(command, io),
      getContainerLogs,
    },
    listPods: () => [pod],
    getPods: unused,
    redact: (_uid, error) => error,
  });
  const clientCa: ClientCa = {
    current: () => authority.certificate,
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
    searched: Promise.resolve(),
    run: () => Promise.resolve(),
  };
  // The fake API server allows everything; its decisions are cached as usual.
  const reviews = { create: (_resource: unknown, review: object) => Promise.resolve({ ...review, status: { allowed: true } }) };
  const { signal: lifetime } = new AbortController();
  const asked = reviews as unknown as Pick<KubeClient, "create">;
  const server = await startKubeletServer({
    nodes: [{ access }],
    host: "127.0.0.1",
    port: 0,
    accessControl: createAccessControl({ clientCa, client: asked, clock, random, metrics: noMetrics, lifetime }),
    certificate: {
      current: () => ({ ...own, clientCa: authority.certificate }),
      onChange: () => ({ [Symbol.dispose]: () => undefined }),
    },
  });
  return server.port;
}

/** A pod `default/web` that runs one container `main`. */
const pod: Pod = {
  metadata: { namespace: "default", name: "web", uid: "1" },
  spec: { containers: [{ name: "main", image: "main:1" }] },
  status: {
    phase: "Running",
    containerStatuses: [{ name: "main", image: "main:1", imageID: "", ready: true, restartCount: 0, state: { running: {} } }],
  },
};

async function serveDirectly(): Promise<number> {
  const server = createServer({ cert: own.certificate, key: own.key, noDelay: true }, answer);
  server.on("upgrade", (request, socket, head) => {
    const query = new URL(request.url ?? "/", "https://server").searchParams;
    const wants = (name: string): boolean => query.get(name) === "1";
    const streams = { stdin: wants("input"), stdout: wants("output"), stderr: wants("error"), tty: false };
    acceptRemoteCommand({ request, socket, head }, { ...streams, clock })
      .then(async (session) => {
        await using _closed = session;
        await session.finish(await run(query.getAll("command"), session));
      })
      .catch(() => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const query = new URL(request.url ?? "/", "https://server").searchParams;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  response.flushHeaders();
  const log = query.has("follow") ? Readable.from(ticks(gone.signal)) : Readable.from(blocks(Number(query.get("limitBytes"))));
  pipeline(log, response).catch(() => undefined);
}
