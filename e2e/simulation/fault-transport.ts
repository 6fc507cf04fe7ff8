import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { Transport, TransportRequest, TransportResponse } from "@virtual-kubelet/kube-client";
import type { Chance } from "./chance.ts";
import { podOfPath, withoutHiddenEvents, withoutItems } from "./hidden-pods.ts";
import type { LeaseWatch } from "./lease-watch.ts";
import type { Network, RequestFault } from "./network.ts";

/** How long an answer is waited for before the connection counts as dead. */
const answerTimeoutMs = 30_000;

const encoder = new TextEncoder();

/**
 * The connections of one program to the API server: requests take their time, and go wrong as the network has it.
 * When the program is killed, nothing comes back over them any more.
 */
export class FaultTransport implements Transport {
  readonly #network: Network;
  readonly #clock: Clock;
  readonly #lease: LeaseWatch;
  readonly #watches = new Set<AbortController>();
  #hasListed = false;
  #isDead = false;
  #underWay = 0;

  /** @param clock - the program's: what waits on it ends when the program is killed */
  constructor(network: Network, clock: Clock, lease: LeaseWatch) {
    this.#network = network;
    this.#clock = clock;
    this.#lease = lease;
  }

  /** Requests without an answer, and open watches. */
  get underWay(): number {
    return this.#underWay + this.#watches.size;
  }

  /** Simulates that the program is killed: requests in progress may still take effect, but their answers are lost. */
  kill(): void {
    this.#isDead = true;
    for (const watch of this.#watches) watch.abort(new Error("the program was killed"));
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    request.signal.throwIfAborted();
    this.#underWay++;
    this.#lease.onRequest(request);
    try {
      const response = await this.#send(request);
      return request.pool === "lease" ? await this.#lease.onResponse(request, response) : response;
    } finally {
      this.#underWay--;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #send(request: TransportRequest): Promise<TransportResponse> {
    const { signal } = request;
    const { trace, chance } = this.#network.options;
    const isWatch = request.method === "GET" && request.path.includes("watch=true");
    const fault = this.#network.draw(request);
    if (fault !== "none") trace.add("network:", fault, request.method, request.path);
    await this.#travel(signal);
    if (!this.#network.isUp) throw new UnavailableError("connect: connection refused");
    if (fault === "error") throw new UnavailableError("write: connection reset by peer");
    if (fault === "slow") await this.#clock.sleep(chance.between(1_000, 15_000), signal);
    if (fault === "hang" && chance.happens(0.5)) await this.#timeOut(signal);
    const early = this.#earlyAnswer(fault, request) ?? (isWatch ? this.#expiry(request) : undefined);
    if (early) {
      await this.#travel(signal);
      return early;
    }
    if (isWatch) return this.#openWatch(request);
    this.#network.options.onRequest(request);
    const response = await this.#network.inner.request(request);
    const body = this.#shown(request, await readAll(response.body));
    if (fault === "hang") await this.#timeOut(signal);
    await this.#travel(signal);
    if (fault === "lost" || !this.#network.isUp) throw new UnavailableError("read: connection reset by peer");
    if (fault === "gatewayTimeout") return failure(504, "Timeout");
    return { ...response, body: once(body) };
  }

  /** Answers a request without the server, or returns `undefined`. */
  #earlyAnswer(fault: RequestFault, { method, path }: TransportRequest): TransportResponse | undefined {
    const { chance, profile, server } = this.#network.options;
    const isRead = method === "GET" && !path.includes("watch=true");
    if (isRead && /\/pods|\/leases|\/secrets/.test(path) && this.#network.happens("noList")) {
      this.#network.options.trace.add("network: something else answers", path);
      return answer(200, noList(chance));
    }
    const isStream = path.includes("sendInitialEvents=true");
    if (isStream && (!profile.streamsLists || this.#network.hidden.size > 0)) return failure(422, "Invalid");
    if (isStream) this.#hasListed = true;
    const pod = podOfPath(server, path);
    if (pod && this.#network.hidden.has(pod.uid)) return failure(404, "NotFound", { kind: "pods", name: pod.name });
    if (fault === "serverError") return failure(500, "InternalError");
    if (fault !== "tooMany" && fault !== "unavailable") return undefined;
    const refusal = fault === "tooMany" ? failure(429, "TooManyRequests") : failure(503, "ServiceUnavailable");
    const seconds = chance.happens(0.8) ? chance.whole(1, 10) : chance.whole(1, profile.longestRetryAfterSeconds);
    return { ...refusal, headers: { ...refusal.headers, "retry-after": String(seconds) } };
  }

  /** Removes hidden pods from the server's answer. */
  #shown({ method, path }: TransportRequest, body: Uint8Array): Uint8Array {
    if (method !== "GET" || !/\/pods(\?|$)/.test(path)) return body;
    const { hidden, options } = this.#network;
    // Of what the first list lacked the program could never have heard.
    const hasGaps = this.#hasListed && this.#network.happens("listGaps");
    this.#hasListed = true;
    if (hidden.size === 0 && !hasGaps) return body;
    if (hasGaps) options.trace.add("network: a list lacks pods");
    return withoutItems(body, (uid) => hidden.has(uid) || (hasGaps && options.chance.happens(0.5)));
  }

  async #timeOut(signal: AbortSignal): Promise<never> {
    await this.#clock.sleep(answerTimeoutMs, signal);
    throw new UnavailableError(`no answer within ${answerTimeoutMs / 1000} s`);
  }

  async #travel(signal: AbortSignal): Promise<void> {
    const { chance, profile } = this.#network.options;
    await this.#clock.sleep(chance.between(profile.latencyMs / 10, profile.latencyMs), signal);
  }

  #expiry({ path }: TransportRequest): TransportResponse | undefined {
    const version = Number(new URLSearchParams(path.slice(path.indexOf("?"))).get("resourceVersion") ?? 0);
    return version > 0 && this.#network.hasExpired(version) ? failure(410, "Expired") : undefined;
  }

  async #openWatch(request: TransportRequest): Promise<TransportResponse> {
    const watch = new AbortController();
    const onAbort = (): void => watch.abort(request.signal.reason);
    request.signal.addEventListener("abort", onAbort, { once: true });
    const response = await this.#network.inner.request({ ...request, signal: watch.signal });
    const held = new DisposableStack();
    held.defer(() => request.signal.removeEventListener("abort", onAbort));
    held.defer(() => this.#watches.delete(watch));
    held.use(this.#network.addWatch(watch));
    this.#watches.add(watch);
    // Also a watch that nobody reads has an end.
    watch.signal.addEventListener("abort", () => held.dispose(), { once: true });
    await this.#travel(watch.signal);
    return { ...response, body: this.#read(response.body, watch, held) };
  }

  /** Delivers a watch with faults: delayed, cut off, or without events. */
  async *#read(body: AsyncIterable<Uint8Array>, watch: AbortController, held: DisposableStack): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const whole of body) {
        const chunk = this.#network.hidden.size > 0 ? withoutHiddenEvents(whole, this.#network.hidden) : whole;
        if (chunk.length === 0) continue;
        await this.#travel(watch.signal);
        if (this.#network.happens("deadWatch")) {
          using _dead = this.#network.addDeadWatch();
          await untilAborted(watch.signal);
        }
        if (this.#network.happens("expired")) {
          yield encoder.encode(`${JSON.stringify({ type: "ERROR", object: statusBody(410, "Expired") })}\n`);
          await untilAborted(watch.signal);
        }
        if (this.#network.happens("cutWatch")) {
          yield chunk.subarray(0, this.#network.options.chance.whole(0, chunk.length - 1));
          throw new UnavailableError("read: connection reset by peer");
        }
        yield chunk;
      }
    } catch (error) {
      if (this.#isDead) await new Promise<never>(() => {});
      throw error;
    } finally {
      held.dispose();
    }
  }
}

/** Answers of other servers in place of the API server, which are not of the requested kind. */
function noList(chance: Chance): object {
  return chance.pick<object>([
    {},
    { kind: "Status", apiVersion: "v1", status: "Success" },
    { kind: "PodList", apiVersion: "v1", metadata: {} },
    { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [] },
    { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "1" } },
    { items: [] },
  ]);
}

/** @param details - what the API server says of the object; without them the answer may be another's */
function failure(code: number, reason: string, details?: { readonly kind: string; readonly name: string }): TransportResponse {
  return answer(code, { ...statusBody(code, reason), ...(details && { details }) });
}

function answer(status: number, body: object): TransportResponse {
  return { status, headers: { "content-type": "application/json" }, body: once(encoder.encode(JSON.stringify(body))) };
}

function statusBody(code: number, reason: string): object {
  return { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: `simulated ${reason}` };
}

/** Waits until the signal aborts, and throws its reason. */
async function untilAborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  throw signal.reason;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  if (bytes.length > 0) yield bytes;
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}
