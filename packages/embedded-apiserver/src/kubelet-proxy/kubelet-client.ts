import { Agent, request as httpsRequest } from "node:https";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { CertifiedKey } from "../certificates/certificate.ts";

/** A request to a kubelet. */
export interface KubeletRequest {
  readonly url: URL;
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Uint8Array;
}

/** How the server shows itself to kubelets; its group is `system:masters`, as kubeadm had it for long. */
export const kubeletClientUser = "kube-apiserver-kubelet-client";

/**
 * Sends requests to kubelets, as the user {@link kubeletClientUser}. Their certificates are not looked at, as
 * kube-apiserver does without `--kubelet-certificate-authority`. Connections are kept for the next request.
 */
export class KubeletClient implements Disposable {
  /** What TLS to a kubelet needs. */
  readonly tls: { readonly cert: string; readonly key: string; readonly rejectUnauthorized: false };
  readonly #agent: Agent;

  constructor({ certificatePem, privateKeyPem }: CertifiedKey) {
    this.tls = { cert: certificatePem, key: privateKeyPem, rejectUnauthorized: false };
    this.#agent = new Agent({ ...this.tls, keepAlive: true });
  }

  /** The answer's head; its body is still to come. Rejects with node's error if there is no connection to be had. */
  send({ url, method = "GET", headers = {}, body }: KubeletRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const isSecure = url.protocol === "https:";
      const request = isSecure ? httpsRequest(url, { method, headers, agent: this.#agent }) : httpRequest(url, { method, headers });
      request.once("response", resolve);
      request.once("error", reject);
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
