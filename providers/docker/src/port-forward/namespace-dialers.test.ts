import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { isUnavailable, isUnsupported } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NamespaceDialers, type NamespaceDialersOptions } from "./namespace-dialers.ts";

/** In whose namespace the tests run. */
const here = (options: NamespaceDialersOptions = {}): NamespaceDialers => new NamespaceDialers({ enter: () => [], ...options });
const pod = (name: string): { readonly sandboxId: string; readonly pid: number } => ({ sandboxId: name, pid: 1 });
const never = new AbortController().signal;

let server: Server;
let port: number;
const connections = new Set<Socket>();

beforeEach(async () => {
  server = createServer((socket) => {
    connections.add(socket);
    socket.on("error", () => {}).once("close", () => connections.delete(socket));
    socket.end("hello");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
});

afterEach(() => {
  for (const socket of connections) socket.destroy();
  server.close();
});

async function textOf(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

test("forty connections to a pod are made by one process, and no byte of theirs is lost", async () => {
  using dialers = here();

  const sockets = await Promise.all(Array.from({ length: 40 }, () => dialers.connect(pod("a"), port, never)));

  expect(dialers.processes).toBe(1);
  expect(new Set(await Promise.all(sockets.map((socket) => textOf(socket))))).toEqual(new Set(["hello"]));
  for (const socket of sockets) socket.destroy();
});

test("a port that nobody listens on is told of, and the process goes on for others", async () => {
  using dialers = here();
  server.close();

  const error: unknown = await dialers.connect(pod("a"), port, never).catch((reason: unknown) => reason);

  expect([isUnavailable(error), String(error)]).toEqual([true, expect.stringContaining("ECONNREFUSED")]);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  (await dialers.connect(pod("a"), port, never)).destroy();
  expect(dialers.processes).toBe(1);
});

test("who gives up has no connection left behind, and neither has the pod", async () => {
  using dialers = here();
  (await dialers.connect(pod("a"), port, never)).destroy();
  const controller = new AbortController();
  const dials = Array.from({ length: 20 }, () => dialers.connect(pod("a"), port, controller.signal));

  controller.abort(new Error("the client has gone"));

  for (const dial of dials) await expect(dial).rejects.toThrow("the client has gone");
  (await dialers.connect(pod("a"), port, never)).destroy();
  await expect.poll(() => connections.size).toBe(0);
});

test("there are so many processes at once, and the one that was used longest ago makes room", async () => {
  using dialers = here({ maxProcesses: 2 });

  for (const name of ["a", "b", "a", "c", "a"]) {
    (await dialers.connect(pod(name), port, never)).destroy();
    expect(dialers.processes).toBeLessThanOrEqual(2);
  }
  await Promise.all(["a", "b", "c", "d", "e", "f"].map(async (name) => (await dialers.connect(pod(name), port, never)).destroy()));

  expect(dialers.processes).toBe(2);
});

test("who waits for a process may give up", async () => {
  using dialers = here({ maxProcesses: 0 });
  const controller = new AbortController();
  const dial = dialers.connect(pod("a"), port, controller.signal);

  controller.abort(new Error("the client has gone"));

  await expect(dial).rejects.toThrow("the client has gone");
});

/** A port whose backlog is full: the program that listens there never takes a connection. */
async function fullBacklog(): Promise<{ readonly port: number } & Disposable> {
  const child = spawn(process.execPath, ["-e", sleepingListener], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { port: Number(line.toString()), [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

const sleepingListener = `
const server = require("node:net").createServer();
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  require("node:fs").writeSync(1, String(server.address().port));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
`;

test("pods with full backlogs, dialled again and again, keep nobody else's connection from being made", async () => {
  using full = await fullBacklog();
  using dialers = here({ maxProcesses: 2, turnMs: 100 });
  const stop = new AbortController();
  const refusals: unknown[] = [];
  const sockets: Socket[] = [];
  const attack = async (name: string): Promise<void> => {
    while (!stop.signal.aborted)
      try {
        sockets.push(await dialers.connect(pod(name), full.port, stop.signal));
      } catch (error) {
        refusals.push(error);
      }
  };
  const attacks = ["a", "b", "c", "a", "b", "c"].map((name) => attack(name));
  await expect.poll(() => sockets.length).toBeGreaterThan(0);

  for (const name of ["d", "e"]) (await dialers.connect(pod(name), port, never)).destroy();

  expect(refusals.every(isUnavailable)).toBe(true);
  expect(String(refusals[0])).toContain("other pods wait for their turn");
  stop.abort(new Error("the attack is over"));
  await Promise.all(attacks);
  for (const socket of sockets) socket.destroy();
});

test("a process that is busy for longer than its turn goes on while nobody waits", async () => {
  using full = await fullBacklog();
  using dialers = here({ maxProcesses: 1, turnMs: 1 });
  const controller = new AbortController();
  const dials = Array.from({ length: 8 }, () => dialers.connect(pod("a"), full.port, controller.signal));
  const made = await Promise.race(dials);

  (await dialers.connect(pod("a"), port, never)).destroy();

  controller.abort(new Error("the client has gone"));
  const reasons = await Promise.allSettled(dials);
  expect(reasons.filter(({ status }) => status === "rejected").map((each) => String(Reflect.get(each, "reason")))).toContain(
    "Error: the client has gone",
  );
  expect(reasons.some((each) => String(Reflect.get(each, "reason")).includes("their turn"))).toBe(false);
  for (const each of reasons) if (each.status === "fulfilled") each.value.destroy();
  made.destroy();
});

test("nobody who waits for a process waits for ever once all are ended", async () => {
  const dialers = here({ maxProcesses: 0 });
  const dial = dialers.connect(pod("a"), port, never);

  dialers[Symbol.dispose]();

  await expect(dial).rejects.toThrow("the program ends");
});

test("a process without a connection to make ends after a while, and the next connection has another", async () => {
  using dialers = here({ idleMs: 1 });
  (await dialers.connect(pod("a"), port, never)).destroy();

  await expect.poll(() => dialers.processes).toBe(0);

  (await dialers.connect(pod("a"), port, never)).destroy();
});

test("a namespace that cannot be entered is told of in the words of what was to enter it", async () => {
  using dialers = here({ enter: () => [process.execPath, "-e", 'console.error("nsenter: no such process"); process.exit(1)'] });

  const error: unknown = await dialers.connect(pod("a"), port, never).catch((reason: unknown) => reason);

  expect([isUnsupported(error), String(error)]).toEqual([true, expect.stringContaining("nsenter: no such process; run as root")]);
  await expect.poll(() => dialers.processes).toBe(0);
});

test("a program that is not there is told of", async () => {
  using dialers = here({ enter: () => ["/nonexistent/nsenter"] });

  const error: unknown = await dialers.connect(pod("a"), port, never).catch((reason: unknown) => reason);

  expect([isUnsupported(error), String(error)]).toEqual([true, expect.stringContaining("ENOENT")]);
});

test("connections outlive the process that made them", async () => {
  const dialers = here();
  const socket = await dialers.connect(pod("a"), port, never);

  dialers[Symbol.dispose]();

  expect(dialers.processes).toBe(0);
  expect(await textOf(socket)).toBe("hello");
  socket.destroy();
});
