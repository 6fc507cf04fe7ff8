import type { Clock, Random } from "@virtual-kubelet/clock";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import type { ContainerRun } from "../../../support/container-host/container-host.ts";
import { AgentSession, type SessionScript, type SessionTarget } from "./agent-session.ts";

/** Answer of ExecuteCommand about its session. */
export interface OpenedSession {
  readonly sessionId: string;
  readonly streamUrl: string;
  readonly tokenValue: string;
}

/** The data channels of Session Manager, on the fake's HTTP server. */
export class SessionServer implements AsyncDisposable {
  /** Behavior of the next sessions. */
  script: SessionScript = {};
  /** All sessions whose channel was opened, in order. */
  readonly sessions: AgentSession[] = [];
  /** What clients have done wrong before their session began. */
  readonly problems: string[] = [];
  readonly #targets = new Map<string, SessionTarget>();
  readonly #webSockets = new WebSocketServer({ noServer: true });
  readonly #around: { readonly clock: Clock; readonly random: Random };

  constructor(around: { readonly clock: Clock; readonly random: Random }) {
    this.#around = around;
  }

  /** Serves the channels on a server. */
  serve(server: Server): void {
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const { pathname } = new URL(request.url ?? "/", "http://fake");
      const target = this.#targets.get(pathname.split("/").at(-1) ?? "");
      if (target === undefined || !pathname.startsWith("/v1/data-channel/")) {
        socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return;
      }
      this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => this.#open(webSocket, target));
    });
  }

  /** Prepares a session. @param base - URL of the server, with the scheme `ws` */
  create(run: ContainerRun, command: string, base: string): OpenedSession {
    const id = `ecs-execute-command-${this.#around.random.uuid().replaceAll("-", "").slice(0, 17)}`;
    const token = Buffer.from(this.#around.random.uuid()).toString("base64");
    this.#targets.set(id, { id, token, run, command });
    return { sessionId: id, streamUrl: `${base}/v1/data-channel/${id}?role=publish_subscribe`, tokenValue: token };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#webSockets.clients) client.terminate();
    await new Promise<void>((resolve) => this.#webSockets.close(() => resolve()));
  }

  #open(socket: WebSocket, target: SessionTarget): void {
    socket.on("error", () => {});
    socket.once("message", (data: Buffer, isBinary) => {
      const problem = isBinary ? "the first frame is not a text" : openingProblem(data.toString("utf8"), target.token);
      if (problem === undefined) this.sessions.push(new AgentSession(socket, target, this.script, this.#around));
      else {
        this.problems.push(problem);
        socket.close(1008, problem);
      }
    });
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What is wrong with the frame that opens a channel. */
function openingProblem(text: string, token: string): string | undefined {
  let opening: Readonly<Record<string, unknown>>;
  try {
    opening = JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return "the opening is no JSON";
  }
  if (opening["MessageSchemaVersion"] !== "1.0") return "MessageSchemaVersion is not 1.0";
  if (!uuid.test(String(opening["RequestId"]))) return "RequestId is no UUID";
  if (!uuid.test(String(opening["ClientId"]))) return "ClientId is no UUID";
  if (!/^\d+\.\d+\.\d+\.\d+$/.test(String(opening["ClientVersion"]))) return "ClientVersion is no version of four numbers";
  return opening["TokenValue"] === token ? undefined : "TokenValue is not the session's";
}
