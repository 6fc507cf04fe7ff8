import type { OutgoingHttpHeaders } from "node:http";
import type { DockerEngine, EngineRequest } from "./docker-engine.ts";

/** What dockerode asks of a modem, as far as it is used here. */
interface DialOptions {
  readonly path: string;
  readonly method?: string | undefined;
  readonly headers?: OutgoingHttpHeaders | undefined;
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  readonly isStream?: boolean | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

type RequestCallback = (error: Error | null, result: unknown) => void;

/**
 * Carries dockerode's requests over our own connection, in place of its docker-modem: that one inspects the whole
 * connection pool for each request (9 ms of processor time once thirty were open), and its errors have no codes.
 */
export class EngineModem {
  readonly #engine: Pick<DockerEngine, "json" | "stream">;

  constructor(engine: Pick<DockerEngine, "json" | "stream">) {
    this.#engine = engine;
  }

  /** One request of dockerode; the part of docker-modem that it calls. */
  dial(options: DialOptions, callback: RequestCallback): void {
    void this.#answer(options, callback);
  }

  async #answer(options: DialOptions, callback: RequestCallback): Promise<void> {
    let result: unknown;
    try {
      result = await this.#send(options);
    } catch (error) {
      return callback(error instanceof Error ? error : new Error(String(error)), null);
    }
    return callback(null, result);
  }

  async #send(options: DialOptions): Promise<unknown> {
    const signal = options.abortSignal ?? new AbortController().signal;
    const request = toRequest(options);
    if (options.isStream) return this.#engine.stream(request, signal);
    return (await this.#engine.json(request, signal)) ?? null;
  }
}

/** What dockerode means: options are the query where its path ends in `?`, and the body of a POST. */
function toRequest({ path, method, options = {}, headers }: DialOptions): EngineRequest {
  const { abortSignal: _signal, authconfig: _auth, _query, _body, ...plain } = options;
  const isQuery = path.includes("?");
  const body: unknown = _body ?? plain;
  return {
    method: (method ?? "GET") as EngineRequest["method"],
    path: path.replace(/\?.*$/, ""),
    ...(isQuery && { query: textOf((_query ?? plain) as Readonly<Record<string, unknown>>) }),
    ...(method === "POST" && Object.keys(Object(body)).length > 0 && { body }),
    ...(headers && { headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])) }),
  };
}

function textOf(query: Readonly<Record<string, unknown>>): Record<string, string> {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(known.map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : String(value)]));
}
