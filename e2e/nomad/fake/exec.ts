import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { Reaper } from "@virtual-kubelet/testing";
import type { RawData, WebSocket } from "ws";
import { spawnCommand } from "../../real-process-provider/spawn-command.ts";
import type { FakeCluster } from "./cluster.ts";

interface ExecOptions {
  readonly cluster: FakeCluster;
  readonly reaper: Reaper;
  readonly url: URL;
  readonly isAllowed: boolean;
  /** Closes the connection without a close frame, after everything written so far. */
  readonly breakOff: () => void;
}

interface InputFrame {
  readonly stdin?: { readonly data?: string; readonly close?: boolean };
  readonly tty_size?: { readonly height: number; readonly width: number };
}

const internalError = 1011;
const policyViolation = 1008;

/** Runs a command in a task. Errors are reported after the connection is accepted. Source: fixtures 07 and 08. */
export function serveExec(socket: WebSocket, { cluster, reaper, url, isAllowed, breakOff }: ExecOptions): void {
  socket.on("error", () => {});
  const [, id = ""] = /^\/v1\/client\/allocation\/([^/]+)\/exec$/.exec(url.pathname) ?? [];
  if (!isAllowed) return socket.close(internalError, "Permission denied");
  const runner = cluster.runners.get(id);
  if (!runner) return socket.close(policyViolation, `Unknown allocation "${id}"`);
  const name = url.searchParams.get("task") ?? "";
  const task = runner.task(name);
  if (!task?.group) return socket.close(internalError, task ? "task not running" : "task not found");
  const command = task.words(JSON.parse(url.searchParams.get("command") ?? "[]") as string[]);
  const isDocker = task.task.Driver === "docker";
  const terminal = url.searchParams.get("tty") === "true" ? { width: 80, height: 24 } : undefined;
  const send = (frame: object): void => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(frame));
  };
  const end = (exitCode: number): void => {
    if (!terminal) send({ stderr: { close: true } });
    send({ stdout: { close: true } });
    // Exit code 0 is omitted, and the connection is closed without a close frame.
    send({ exited: true, result: exitCode === 0 ? {} : { exit_code: exitCode } });
    breakOff();
  };
  const [program = ""] = command;
  if (isAbsolute(program) && !existsSync(program)) {
    const why = `${program}: no such file or directory`;
    // Measured on Nomad 2.0.6, and with its docker driver on Docker 20.10.
    if (!isDocker) return socket.close(internalError, `rpc error: code = Unknown desc = failed to start command: fork/exec ${why}`);
    send({
      stdout: {
        data: Buffer.from(`OCI runtime exec failed: exec failed: exec: "${program}": stat ${why}: unknown\r\n`).toString("base64"),
      },
    });
    return end(126);
  }
  const group = spawnCommand({ command, env: task.env, cwd: runner.folderOf(name), stdin: true, terminal }, reaper);
  const { stdin, stdout, stderr } = group.child;
  const inputEnded = Promise.withResolvers<void>();
  socket.on("message", (raw: RawData) => {
    const { stdin: input, tty_size: size } = JSON.parse((raw as Buffer).toString()) as InputFrame;
    if (input?.data && stdin?.writable && !stdin.write(Buffer.from(input.data, "base64"))) {
      socket.pause();
      stdin.once("drain", () => socket.resume());
    }
    // A write to an ended command fails, which ends the wait for its input.
    if (input?.data && (group.child.exitCode ?? group.child.signalCode) !== null) inputEnded.resolve();
    if (input?.close) {
      stdin?.end();
      inputEnded.resolve();
    }
    if (size) group.resize(size);
  });
  stdin?.once("close", () => socket.resume());
  const copied = ([stdout, stderr] as const).map(async (stream, index) => {
    const key = index === 0 ? "stdout" : "stderr";
    for await (const chunk of stream ?? []) {
      // Nomad notices a closed connection when it sends something. A Docker engine lets the command continue.
      if (socket.readyState !== socket.OPEN && !isDocker) group.signal("SIGKILL");
      send({ [key]: { data: (chunk as Buffer).toString("base64") } });
      while (socket.bufferedAmount > 1_000_000 && socket.readyState === socket.OPEN) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  socket.once("close", () => inputEnded.resolve());
  void group.exited.then(async (exitCode) => {
    // A command that leaves much of its input unread loses its exit code. Measured on Nomad 2.0.6.
    const hasUnread = stdin !== null && (stdin.writableLength > 0 || stdin.errored !== null);
    await Promise.allSettled(copied);
    // Without a terminal, exec and raw_exec also wait for the end of the input before they report the end. Measured on Nomad 2.0.6.
    if (hasUnread) return breakOff();
    if (!isDocker && !terminal) await inputEnded.promise;
    end(exitCode);
  });
}
