import type { Reaper } from "@virtual-kubelet/testing";
import type { RawData, WebSocket } from "ws";
import { spawnCommand } from "../../process-provider/spawn-command.ts";
import type { FakeCluster } from "./cluster.ts";

interface ExecDeps {
  readonly cluster: FakeCluster;
  readonly reaper: Reaper;
  readonly url: URL;
  readonly isAllowed: boolean;
  /** Ends the connection without a word, behind what was sent. */
  readonly breakOff: () => void;
}

interface InputFrame {
  readonly stdin?: { readonly data?: string; readonly close?: boolean };
  readonly tty_size?: { readonly height: number; readonly width: number };
}

const internalError = 1011;
const policyViolation = 1008;

/** A command in a task. What is wrong is said after the connection was accepted. Source: fixtures 07 and 08. */
export function serveExec(socket: WebSocket, { cluster, reaper, url, isAllowed, breakOff }: ExecDeps): void {
  socket.on("error", () => {});
  const [, id = ""] = /^\/v1\/client\/allocation\/([^/]+)\/exec$/.exec(url.pathname) ?? [];
  if (!isAllowed) return socket.close(internalError, "Permission denied");
  const runner = cluster.runners.get(id);
  if (!runner) return socket.close(policyViolation, `Unknown allocation "${id}"`);
  const name = url.searchParams.get("task") ?? "";
  const task = runner.task(name);
  if (!task?.group) return socket.close(internalError, task ? "task not running" : "task not found");
  const command = task.words(JSON.parse(url.searchParams.get("command") ?? "[]") as string[]);
  const terminal = url.searchParams.get("tty") === "true" ? { width: 80, height: 24 } : undefined;
  const group = spawnCommand({ command, env: task.env, cwd: runner.folderOf(name), stdin: true, terminal }, reaper);
  const { stdin, stdout, stderr } = group.child;
  const send = (frame: object): void => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(frame));
  };
  const inputEnded = Promise.withResolvers<void>();
  socket.on("message", (raw: RawData) => {
    const { stdin: input, tty_size: size } = JSON.parse((raw as Buffer).toString()) as InputFrame;
    if (input?.data !== undefined && !stdin?.write(Buffer.from(input.data, "base64"))) {
      socket.pause();
      stdin?.once("drain", () => socket.resume());
    }
    if (input?.close) {
      stdin?.end();
      inputEnded.resolve();
    }
    if (size) group.resize(size);
  });
  const copied = ([stdout, stderr] as const).map(async (stream, index) => {
    const key = index === 0 ? "stdout" : "stderr";
    for await (const chunk of stream ?? []) {
      send({ [key]: { data: (chunk as Buffer).toString("base64") } });
      while (socket.bufferedAmount > 1_000_000 && socket.readyState === socket.OPEN) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    send({ [key]: { close: true } });
  });
  socket.once("close", () => group.signal("SIGKILL"));
  void group.exited.then(async (exitCode) => {
    await Promise.allSettled(copied);
    // Without a terminal, raw_exec waits for the input's end as well.
    if (task.task.Driver !== "docker" && !terminal) await inputEnded.promise;
    // A code of zero is left out, and the connection breaks off.
    send({ exited: true, result: exitCode === 0 ? {} : { exit_code: exitCode } });
    breakOff();
  });
}
