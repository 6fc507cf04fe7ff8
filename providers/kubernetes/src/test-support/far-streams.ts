import { VirtualClock } from "@virtual-kubelet/clock";
import { createKubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { ScriptedTransport } from "@virtual-kubelet/kube-client/testing";
import type { IncomingUpgrade, UpgradeTarget } from "@virtual-kubelet/streaming";
import { createServer, type IncomingMessage } from "node:http";
import { duplexPair, type Duplex } from "node:stream";
import type { FarConnection } from "../far/far-cluster.ts";
import type { PodAccessOptions } from "../access/pod-access.ts";
import { farPodName } from "../identity/names.ts";
import { namespaceMap } from "../identity/namespaces.ts";
import { farMetadata } from "./far-metadata.ts";

const owner = { clusterId: "home", nodeName: "vk" };

/** The home pod that has a far pod. */
export const home = { namespace: "default", name: "web", uid: "uid-1" };

/** Path of its far pod at the far API server. */
export const podPath: string = `/api/v1/namespaces/far/pods/${farPodName(owner, home)}`;

const farPod: Pod = { apiVersion: "v1", kind: "Pod", metadata: farMetadata(owner, home) };

/** What the far API server does with an upgrade request: takes it over, or refuses it with a status and a body. */
export type OnUpgrade = (upgrade: IncomingUpgrade, url: URL) => Promise<unknown> | { readonly status: number; readonly body: string };

/** A far API server in memory that knows one pod, and is asked for its subresources. */
export class FarStreams {
  readonly clock: VirtualClock = new VirtualClock();
  /** Paths of the requests, with their queries. */
  readonly requests: string[] = [];
  /** `authorization` of each upgrade request. */
  readonly tokens: (string | undefined)[] = [];
  onUpgrade: OnUpgrade = () => ({ status: 404, body: "nothing here" });
  onStream: FarConnection["stream"] = async () => ({ status: 200, headers: {}, body: chunks() });
  /** Whether the watch has shown the pod. */
  isWatched = true;
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

  /** The node whose home pod `uid-1` runs as this far pod. */
  get node(): PodAccessOptions {
    return {
      host: { clock: this.clock },
      owner,
      namespaces: namespaceMap({ mode: "one", name: "far" }, undefined),
      far: {
        podOf: (_owner, homeUid) => (this.isWatched && homeUid === home.uid ? farPod : undefined),
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
      client: createKubeClient(new ScriptedTransport(({ path }) => (path === podPath ? { body: farPod } : { status: 404, body: {} })), {
        clock: this.clock,
      }),
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
