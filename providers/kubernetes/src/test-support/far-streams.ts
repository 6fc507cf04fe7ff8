import { VirtualClock } from "@virtual-kubelet/clock";
import type { IncomingUpgrade, UpgradeTarget } from "@virtual-kubelet/streaming";
import { createServer, type IncomingMessage } from "node:http";
import { duplexPair, type Duplex } from "node:stream";
import type { FarConnection } from "../far/far-cluster.ts";
import type { PodAccessOptions } from "../access/pod-access.ts";

/** What the far API server does with an upgrade request: takes it over, or refuses it with a status and a body. */
export type OnUpgrade = (upgrade: IncomingUpgrade, url: URL) => Promise<unknown> | { readonly status: number; readonly body: string };

/** A far API server in memory that knows one pod, `far/web-x`, and is asked for its subresources. */
export class FarStreams {
  readonly clock: VirtualClock = new VirtualClock();
  /** Paths of the requests, with their queries. */
  readonly requests: string[] = [];
  /** `authorization` of each upgrade request. */
  readonly tokens: (string | undefined)[] = [];
  onUpgrade: OnUpgrade = () => ({ status: 404, body: "nothing here" });
  onStream: FarConnection["stream"] = async () => ({ status: 200, headers: {}, body: chunks() });
  isCurrent = true;
  #token = 1;
  readonly #server = createServer();

  constructor() {
    this.#server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.requests.push(request.url ?? "");
      this.tokens.push(request.headers.authorization);
      const answer = this.onUpgrade({ request, socket, head }, new URL(request.url ?? "", "http://far"));
      if (answer instanceof Promise) return void answer.catch(() => {});
      const { status, body } = answer;
      socket.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
    });
  }

  /** Options of access to the pod with the home UID `uid-1`. */
  get options(): PodAccessOptions {
    const pod = { metadata: { namespace: "far", name: "web-x", uid: "far-uid" } };
    return {
      clock: this.clock,
      owner: { clusterId: "home", nodeName: "vk" },
      far: {
        isCurrent: this.isCurrent,
        podOf: (_owner, homeUid) => (homeUid === "uid-1" ? pod : undefined),
        connection: this.#connection(),
      },
    };
  }

  #connection(): FarConnection {
    const upgradeTarget = async (path: string, _signal: AbortSignal, refused?: UpgradeTarget): Promise<UpgradeTarget> => {
      if (refused) this.#token++;
      return {
        url: `http://far${path}`,
        headers: { authorization: `Bearer ${this.#token}` },
        connect: () => {
          const [near, far] = duplexPair();
          this.#server.emit("connection", far);
          return near;
        },
      };
    };
    return {
      get client(): never {
        throw new Error("access needs no client");
      },
      namespace: undefined,
      stream: (path, signal) => {
        this.requests.push(path);
        return this.onStream(path, signal);
      },
      upgradeTarget,
      [Symbol.asyncDispose]: async () => {},
    };
  }
}

/** Chunks of a log. */
export async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield Buffer.from(text);
}
