import type { KeyPair } from "@virtual-kubelet/pki";
import { Agent, request as httpsRequest } from "node:https";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { serverName } from "../outbound/https-client.ts";
import { refuseSwitch } from "../outbound/refuse-switch.ts";

/** A request to a kubelet. */
export interface KubeletRequest {
  readonly url: URL;
  /** Aborts the request, even after the response has started. */
  readonly signal?: AbortSignal | undefined;
  /** Sends no client certificate, for servers other than kubelets; default: false. */
  readonly isAnonymous?: boolean;
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Uint8Array;
}

/** User name of the server's client certificate for kubelets. Its group is `system:masters`, as in clusters of older kubeadm versions. */
export const kubeletClientUser = "kube-apiserver-kubelet-client";

/** TLS options for servers other than kubelets. Their certificates are not verified. */
export const anonymousTls = { rejectUnauthorized: false } as const;

const harmlessMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

export interface Kubelets {
  /** TLS options for kubelets. */
  readonly tls: { readonly cert: string; readonly key: string; readonly rejectUnauthorized: false };
  /** Resolves with the head of the response. Rejects with an error of Node.js if the kubelet cannot be reached. */
  send(request: KubeletRequest): Promise<IncomingMessage>;
}

/**
 * Sends requests to kubelets as the user {@link kubeletClientUser}. Their certificates are not verified, as in kube-apiserver without
 * `--kubelet-certificate-authority`. Connections are reused.
 */
export class KubeletClient implements Kubelets, Disposable {
  readonly tls: Kubelets["tls"];
  readonly #agent: Agent;

  constructor({ certificate, key }: KeyPair) {
    this.tls = { cert: certificate, key, rejectUnauthorized: false };
    this.#agent = new Agent({ ...this.tls, keepAlive: true });
  }

  send(asked: KubeletRequest): Promise<IncomingMessage> {
    const { url, method = "GET", headers = {}, body, signal, isAnonymous = false } = asked;
    return new Promise((resolve, reject) => {
      const connection = isAnonymous ? { agent: false, ...anonymousTls } : { agent: this.#agent };
      const length = body === undefined || body.length === 0 ? {} : { "content-length": body.length };
      // Otherwise the name in the TLS handshake is that of the header `Host`, which is the client's.
      const { servername = "" } = serverName(url);
      const aborting = signal === undefined ? {} : { signal };
      const options = { ...connection, servername, method, headers: { ...headers, ...length }, ...aborting };
      const request = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
      request.once("response", resolve);
      refuseSwitch(request, reject);
      request.on("error", (error) => {
        // The kubelet may just have closed a reused connection.
        if (request.reusedSocket && harmlessMethods.has(method) && signal?.aborted !== true) resolve(this.send(asked));
        else reject(error);
      });
      request.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/**
 * Body of a response as it arrives. Returning the iterator closes the connection at once.
 *
 * @throws Error of Node.js if the sender disappears, so that the client does not take a part for the whole
 */
export function wholeBodyOf(message: IncomingMessage): AsyncIterable<Uint8Array> {
  return bodyIn(message, (chunk) => chunk);
}

/** As {@link wholeBodyOf}; but if the kubelet disappears, the body ends without an error, as on the real server. */
export function bodyOf(message: IncomingMessage): AsyncIterable<Uint8Array> {
  return bodyIn(message, (chunk) => chunk.catch(() => end));
}

type Chunk = Promise<IteratorResult<Uint8Array>>;
const end = { done: true as const, value: undefined };

function bodyIn(message: IncomingMessage, read: (chunk: Chunk) => Chunk): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
      return {
        next: () => read(chunks.next()),
        async return() {
          message.destroy();
          return end;
        },
      };
    },
  };
}

/** Beginning of a body as text; the rest is not read. */
export async function textOf(message: IncomingMessage, limitBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of bodyOf(message)) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= limitBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, limitBytes).toString("utf8");
}
