import { request as httpsRequest, Agent, type RequestOptions } from "node:https";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** An API server and its credentials. */
export interface ApiTarget {
  /** Such as `https://127.0.0.1:6443`. */
  readonly server: string;
  /** PEM of the authority that signed its certificate. */
  readonly ca: string;
  readonly credentials: { readonly cert: string; readonly key: string } | { readonly token: string } | undefined;
}

/** Optional parts of a request. */
export interface RequestInit {
  /** Sent as JSON, except text and bytes, which are sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A complete response. */
export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON, or the text if it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every kind are looked into
  readonly body: any;

  constructor(status: number, headers: IncomingHttpHeaders, body: unknown) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** A complete response with its bytes. */
export interface BytesAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/** A line of a watch. */
export class WatchEvent {
  readonly type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- the same
  readonly object: any;

  constructor({ type, object }: { readonly type: string; readonly object: unknown }) {
    this.type = type;
    this.object = object;
  }
}

/** An open watch. */
export interface Watch extends Disposable {
  readonly status: number;
  /** Next event; `undefined` after the server has ended the watch. */
  next(): Promise<WatchEvent | undefined>;
  /** Next events. @throws Error if the watch ends earlier */
  take(count: number): Promise<WatchEvent[]>;
  /** All events until the server ends the watch. */
  rest(): Promise<WatchEvent[]>;
}

const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** Plain HTTP and JSON client without retries or defaults, so that responses can be compared unchanged. */
export class Api implements Disposable {
  readonly #target: ApiTarget;
  readonly #agent: Agent;

  constructor(target: ApiTarget) {
    this.#target = target;
    const { credentials } = target;
    this.#agent = new Agent({ keepAlive: true, ca: target.ca, ...(credentials !== undefined && "cert" in credentials ? credentials : {}) });
  }

  /** Client of the same server without credentials. */
  anonymous(): Api {
    return new Api({ ...this.#target, credentials: undefined });
  }

  /** Client of the same server with a bearer token. */
  withToken(token: string): Api {
    return new Api({ ...this.#target, credentials: { token } });
  }

  async request(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await this.#open(method, path, init);
    const text = await readText(response);
    return new Answer(response.statusCode ?? 0, response.headers, tryJson(text));
  }

  /** A response whose body is no text, or whose exact bytes matter. */
  async bytes(method: string, path: string, init: RequestInit = {}): Promise<BytesAnswer> {
    const response = await this.#open(method, path, init);
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    return { status: response.statusCode ?? 0, contentType: response.headers["content-type"] ?? "", body: Buffer.concat(chunks) };
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.request("GET", path, { headers });
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.request("POST", path, { body });
  }

  put(path: string, body?: unknown): Promise<Answer> {
    return this.request("PUT", path, { body });
  }

  patch(type: keyof typeof patchTypes, path: string, body: unknown): Promise<Answer> {
    return this.request("PATCH", path, { body, headers: { "content-type": patchTypes[type] } });
  }

  /** Server-side apply. @param manager - name of the field manager, and further parameters such as `web&force=true` */
  apply(path: string, manager: string, configuration: unknown): Promise<Answer> {
    const headers = { "content-type": "application/apply-patch+yaml" };
    return this.request("PATCH", `${path}?fieldManager=${manager}`, { body: configuration, headers });
  }

  delete(path: string, body?: unknown): Promise<Answer> {
    return this.request("DELETE", path, { body });
  }

  /** Creates an object that the test depends on. @throws Error if it is refused */
  async create(path: string, body: unknown): Promise<Answer["body"]> {
    const answer = await this.post(path, body);
    if (answer.status >= 300) throw new Error(`POST ${path}: ${String(answer.status)} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Opens a watch. @param path - path with its query, without `watch` */
  async watch(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Watch> {
    const response = await this.#open("GET", `${path}${path.includes("?") ? "&" : "?"}watch=true`, { headers });
    const events = readEvents(response);
    const next = async (): Promise<WatchEvent | undefined> => {
      const result = await events.next();
      return result.done === true ? undefined : result.value;
    };
    const take = async (count: number): Promise<WatchEvent[]> => {
      const taken: WatchEvent[] = [];
      while (taken.length < count) {
        const event = await next();
        if (event === undefined) throw new Error(`watch ${path}: it ended after ${String(taken.length)} of ${String(count)} events`);
        taken.push(event);
      }
      return taken;
    };
    return {
      status: response.statusCode ?? 0,
      next,
      take,
      rest: async () => {
        const all: WatchEvent[] = [];
        for await (const event of events) all.push(event);
        return all;
      },
      [Symbol.dispose]: () => response.destroy(),
    };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #open(method: string, path: string, { body, headers = {} }: RequestInit): Promise<IncomingMessage> {
    const { server, credentials } = this.#target;
    const text = body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    const options: RequestOptions = {
      method,
      agent: this.#agent,
      headers: {
        ...(credentials !== undefined && "token" in credentials ? { authorization: `Bearer ${credentials.token}` } : {}),
        // Node.js adds no content-length to a DELETE on its own.
        ...(text === undefined ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
        ...headers,
      },
    };
    return new Promise((resolve, reject) => {
      const request = httpsRequest(new URL(path, server), options, resolve);
      request.on("error", reject);
      request.end(text);
    });
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response as AsyncIterable<string>) text += chunk;
  return text;
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function* readEvents(response: IncomingMessage): AsyncGenerator<WatchEvent, undefined> {
  response.setEncoding("utf8");
  let rest = "";
  for await (const chunk of response as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield new WatchEvent(JSON.parse(line) as { type: string; object: unknown });
  }
  return undefined;
}
