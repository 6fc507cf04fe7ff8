import type { ChildProcess } from "node:child_process";
import type { Server } from "node:http";
import type { Writable } from "node:stream";
import { createWebSocketStream, WebSocketServer, type WebSocket } from "ws";
import type { FakeContainer } from "./fake-container.ts";
import type { FakeZun } from "./fake-zun.ts";

/**
 * Zun's websocket proxy: a token and the ID of a command select a terminal. As with Docker, a command continues when its stream ends.
 * Source: zun 18.0.0 zun/websocket/websocketproxy.py; not recorded, because it needs a Docker host managed by Zun.
 */
export function serveExecProxy(server: Server, zun: FakeZun): AsyncDisposable {
  const terminals = new Map<string, ChildProcess>();
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => (offered.has("binary") ? "binary" : false) });
  zun.onResize = (execId, width, height) => void (terminals.get(execId)?.stdio[3] as Writable | undefined)?.write(`${height} ${width}\n`);
  server.on("upgrade", (request, socket, head) => {
    const query = new URL(request.url ?? "/", "http://proxy").searchParams;
    const container = zun.containers.get(query.get("uuid") ?? "");
    const execId = query.get("exec_id") ?? "";
    const exec = container?.execs.get(execId);
    const isAttach = execId === "" && container !== undefined && query.get("token") === container.attachToken;
    if (!container || (!isAttach && exec?.token !== query.get("token"))) {
      socket.destroy();
      return;
    }
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      if (isAttach) attach(accepted, container);
      else runOnTerminal(accepted, container, { execId, command: exec?.command ?? [], terminals });
    });
  });
  return {
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate();
      await new Promise<void>((resolve) => sockets.close(() => resolve()));
    },
  };
}

function runOnTerminal(
  socket: WebSocket,
  container: FakeContainer,
  {
    execId,
    command,
    terminals,
  }: { readonly execId: string; readonly command: readonly string[]; readonly terminals: Map<string, ChildProcess> },
): void {
  const terminal = container.running().openTerminal(command);
  terminals.set(execId, terminal);
  const stream = createWebSocketStream(socket);
  stream.on("error", () => {});
  terminal.on("error", () => stream.destroy());
  stream.on("data", (chunk: Buffer) => {
    if (terminal.stdin?.write(chunk) === false) {
      stream.pause();
      terminal.stdin.once("drain", () => stream.resume());
    }
  });
  terminal.stdout?.on("data", (chunk: Buffer) => {
    if (!stream.writable || stream.write(chunk)) return;
    terminal.stdout?.pause();
    stream.once("drain", () => terminal.stdout?.resume());
  });
  // The command continues without a client, and its output is lost.
  stream.once("close", () => terminal.stdout?.resume());
  terminal.once("close", () => {
    terminals.delete(execId);
    stream.end();
  });
}

function attach(socket: WebSocket, container: FakeContainer): void {
  const { child, exited } = container.running();
  const stream = createWebSocketStream(socket);
  stream.on("error", () => {});
  const pass = (chunk: Buffer): void => void (stream.writable && stream.write(chunk));
  child.stdout?.on("data", pass);
  child.stderr?.on("data", pass);
  stream.on("data", (chunk: Buffer) => void child.stdin?.write(chunk));
  stream.once("close", () => {
    child.stdout?.off("data", pass);
    child.stderr?.off("data", pass);
  });
  void exited.then(() => stream.end());
}
