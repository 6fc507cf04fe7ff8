import { Agent, request as httpsRequest, type AgentOptions } from "node:https";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { refuseSwitch } from "./refuse-switch.ts";

/** A server that is called over HTTPS, and how its certificate is verified. */
export interface HttpsTarget {
  readonly url: URL;
  /** PEM of the authorities; default: those of the machine. */
  readonly caPem?: string | undefined;
  /** Accepts every certificate; default: false. */
  readonly insecure?: boolean;
  /** Address to connect to, if it is not that of the URL. The certificate must be valid for the host of the URL. */
  readonly address?: { readonly host: string; readonly port: number } | undefined;
  /** Client certificate. */
  readonly client?: { readonly certificate: string; readonly key: string } | undefined;
}

/** A request to an {@link HttpsTarget}. */
export interface HttpsRequest {
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Uint8Array | undefined;
  /** Aborts the request, even after the response has started. */
  readonly signal?: AbortSignal | undefined;
}

/** Idle connections with the same options are kept this long. */
const idleMs = 90_000;

/** Tests of webhooks often have an authority each. */
const mostAgents = 50;

/** Methods of requests that Go's client repeats; source: net/http of Go, `Request.isReplayable`. */
const replayable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

/**
 * HTTP/1.1 client that reuses connections. It verifies certificates. A request whose connection breaks is repeated as by Go's client: only if
 * the connection was reused, and the request changes nothing.
 */
export class HttpsClient implements Disposable {
  readonly #agents = new Map<string, Agent>();

  /** Resolves with the head of the response. Rejects with an error of Node.js. */
  async send(target: HttpsTarget, asked: HttpsRequest): Promise<IncomingMessage> {
    const agent = this.#agentFor(target);
    if (Object.keys(agent.freeSockets).length > 0) await closedConnections();
    return await this.#send(target, asked, agent);
  }

  #send(target: HttpsTarget, asked: HttpsRequest, agent: Agent | false): Promise<IncomingMessage> {
    const { url, address } = target;
    const { method, headers, body, signal } = asked;
    return new Promise((resolve, reject) => {
      const length = body === undefined || body.length === 0 ? {} : { "content-length": body.length };
      const request = httpsRequest({
        ...(agent === false ? tlsOptions(target) : {}),
        agent,
        method,
        host: address?.host ?? hostOf(url),
        port: address?.port ?? portOf(url),
        path: url.pathname + url.search,
        headers: { host: url.host, ...headers, ...length },
        ...serverName(url),
        ...(signal === undefined ? {} : { signal }),
      });
      request.once("response", resolve);
      refuseSwitch(request, reject);
      request.on("error", (error) => {
        const isBroken = request.reusedSocket && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
        const mayRepeat = replayable.has(method) && (body === undefined || body.length === 0);
        if (isBroken && mayRepeat && signal?.aborted !== true) resolve(this.#send(target, asked, false));
        else reject(error);
      });
      request.end(body);
    });
  }

  [Symbol.dispose](): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #agentFor(target: HttpsTarget): Agent {
    const key = JSON.stringify([target.caPem, target.insecure, target.client?.certificate]);
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      if (this.#agents.size >= mostAgents) this.#dropIdleAgent();
      this.#agents.set(key, (agent = new Agent({ keepAlive: true, timeout: idleMs, ...tlsOptions(target) })));
    }
    return agent;
  }

  #dropIdleAgent(): void {
    for (const [key, agent] of this.#agents) {
      if (Object.keys(agent.sockets).length > 0) continue;
      agent.destroy();
      this.#agents.delete(key);
      return;
    }
  }
}

/** Lets the event loop see the connections that servers have closed meanwhile, so that they are not used. */
async function closedConnections(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** TLS options for a target, also for upgraded connections. */
export function tlsOptions({ caPem, insecure = false, client }: HttpsTarget): AgentOptions {
  return {
    rejectUnauthorized: !insecure,
    // As in Go, the bundle may be the certificate of the server itself; envtest gives that.
    allowPartialTrustChain: true,
    ...(caPem === undefined ? {} : { ca: caPem }),
    ...(client === undefined ? {} : { cert: client.certificate, key: client.key }),
  };
}

/** Name in the TLS handshake, for which the certificate must be valid; none for an address. */
export function serverName(url: URL): { readonly servername?: string } {
  const host = hostOf(url);
  return isIP(host) === 0 ? { servername: host } : {};
}

/** Host without brackets. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

function portOf({ port }: URL): number {
  return port === "" ? 443 : Number(port);
}

/** Reads a whole body as text. @throws Error if it is larger than the limit, by default none, or breaks off */
export async function bodyText(message: AsyncIterable<Uint8Array>, limitBytes: number = Number.POSITIVE_INFINITY): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of message) {
    bytes += chunk.length;
    if (bytes > limitBytes) throw new Error(`read a response: it has more than ${String(limitBytes)} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
