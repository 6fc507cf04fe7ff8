import { Agent, request as httpsRequest } from "node:https";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { CertifiedKey } from "../certificates/certificate.ts";

/** A request to a kubelet. */
export interface KubeletRequest {
  readonly url: URL;
  /** Lets go of the kubelet, whether it has answered or not. */
  readonly signal?: AbortSignal | undefined;
  /** Shows no certificate, as to a server that is no kubelet; default: `false`. */
  readonly isAnonymous?: boolean;
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Uint8Array;
}

/** How the server shows itself to kubelets; its group is `system:masters`, as kubeadm had it for long. */
export const kubeletClientUser = "kube-apiserver-kubelet-client";

/** TLS to servers that are no kubelets. Their certificates are not looked at either. */
export const anonymousTls = { rejectUnauthorized: false } as const;

const harmlessMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The way to kubelets. */
export interface Kubelets {
  /** What TLS to a kubelet needs. */
  readonly tls: { readonly cert: string; readonly key: string; readonly rejectUnauthorized: false };
  /** The answer's head; its body is still to come. Rejects with node's error if there is no connection to be had. */
  send(request: KubeletRequest): Promise<IncomingMessage>;
}

/**
 * Sends requests to kubelets, as the user {@link kubeletClientUser}. Their certificates are not looked at, as
 * kube-apiserver does without `--kubelet-certificate-authority`. Connections are kept for the next request.
 */
export class KubeletClient implements Kubelets, Disposable {
  readonly tls: Kubelets["tls"];
  readonly #agent: Agent;

  constructor({ certificatePem, privateKeyPem }: CertifiedKey) {
    this.tls = { cert: certificatePem, key: privateKeyPem, rejectUnauthorized: false };
    this.#agent = new Agent({ ...this.tls, keepAlive: true });
  }

  send(asked: KubeletRequest): Promise<IncomingMessage> {
    const { url, method = "GET", headers = {}, body, signal, isAnonymous = false } = asked;
    return new Promise((resolve, reject) => {
      const connection = isAnonymous ? { agent: false, ...anonymousTls } : { agent: this.#agent };
      const length = body === undefined || body.length === 0 ? {} : { "content-length": body.length };
      const options = { ...connection, method, headers: { ...headers, ...length }, ...(signal === undefined ? {} : { signal }) };
      const request = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
      request.once("response", resolve);
      request.on("error", (error) => {
        // A connection that was kept may have been closed at the other end just now.
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
 * A body as it comes. Returning the iterator lets go of the kubelet at once, also while it says nothing; a kubelet that
 * goes away in the middle ends the body, as with the real server.
 */
export function bodyOf(message: IncomingMessage): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
      const end = { done: true as const, value: undefined };
      return {
        next: () => chunks.next().catch(() => end),
        async return() {
          message.destroy();
          return end;
        },
      };
    },
  };
}

/** The beginning of a body, as text; the rest is not read. */
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
