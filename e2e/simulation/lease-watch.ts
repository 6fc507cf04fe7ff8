import type { VirtualClock } from "@virtual-kubelet/clock";
import type { Lease, TransportRequest, TransportResponse } from "@virtual-kubelet/kube-client";
import type { Invariants } from "./invariants.ts";
import type { ProgramCalls } from "./program-calls.ts";

/** Annotation of a node's Lease: the random id of the start that holds it. */
const startIdAnnotation = "virtual-kubelet.io/start-id";

/** How long after a renewal the last try is due that may still keep the Lease, in milliseconds. */
const lastTryMs = 30_000;

/** How often a Lease that has expired is tried at least, in milliseconds. */
const renewalMs = 10_000;

/** Times are rounded on the way. */
const roundingMs = 50;

/** Watches over what one program does with its node's Lease. */
export class LeaseWatch {
  readonly #invariants: Invariants;
  readonly #clock: VirtualClock;
  readonly #calls: Pick<ProgramCalls, "onHeld" | "onLostNode">;
  #startId: string | undefined;
  #notBeforeMs = 0;
  #renewedMs = -Infinity;
  #isLost = false;

  /** @param calls - told when the program holds the node, and when it has read that another instance does */
  constructor(invariants: Invariants, clock: VirtualClock, calls: Pick<ProgramCalls, "onHeld" | "onLostNode">) {
    this.#invariants = invariants;
    this.#clock = clock;
    this.#calls = calls;
  }

  /** The program sends a request. */
  onRequest({ method, path, pool }: TransportRequest): void {
    const nowMs = this.#clock.monotonic();
    if (this.#isLost && method !== "GET" && !path.includes("/events"))
      this.#invariants.report("I13", `${method} ${path} is sent by an instance that has lost its node`);
    if (pool !== "lease") return;
    const earlyMs = this.#notBeforeMs - nowMs;
    if (earlyMs > roundingMs) this.#invariants.report("I11", `${method} ${path} is sent ${Math.round(earlyMs)} ms too early`);
  }

  /** The program gets an answer about its Lease. @returns the answer, which can be read once more */
  async onResponse({ method, body }: TransportRequest, response: TransportResponse): Promise<TransportResponse> {
    const retryAfterSeconds = Number(response.headers["retry-after"] ?? 0);
    if (retryAfterSeconds > 0) {
      // What is asked for beyond the Lease's own time cannot be granted: the node would be lost.
      const nowMs = this.#clock.monotonic();
      const leftMs = this.#renewedMs + lastTryMs - nowMs;
      this.#notBeforeMs = nowMs + Math.min(retryAfterSeconds * 1000, leftMs > 0 ? leftMs : renewalMs);
    }
    const isWritten = (method === "PUT" || method === "POST") && response.status < 300;
    if (isWritten) {
      this.#startId = startIdOf(typeof body === "string" ? body : "");
      this.#renewedMs = this.#clock.monotonic();
      this.#calls.onHeld();
    }
    if (method !== "GET" || response.status !== 200) return response;
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const text = Buffer.concat(chunks);
    const startId = startIdOf(text.toString("utf8"));
    if (this.#startId !== undefined && startId !== undefined && startId !== this.#startId && !this.#isLost) {
      this.#isLost = true;
      this.#calls.onLostNode();
    }
    return { ...response, body: once(text) };
  }
}

function startIdOf(text: string): string | undefined {
  return (JSON.parse(text || "{}") as Lease).metadata?.annotations?.[startIdAnnotation];
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}
