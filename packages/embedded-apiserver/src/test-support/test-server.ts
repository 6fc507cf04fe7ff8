import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { InProcessResponse } from "../clients/in-process-transport.ts";
import { startApiServer, type ApiServer, type ApiServerOptions } from "../start-api-server.ts";

/** Response of the server under test. `body` is the parsed JSON, or the text. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
  readonly body: any;
}

/** A server under test with a clock of its own, without sockets. */
export interface TestServer extends AsyncDisposable {
  readonly server: ApiServer;
  readonly clock: VirtualClock;
  /** @param contentType - default: `application/json` */
  request(method: Method, path: string, body?: unknown, contentType?: string): Promise<TestResponse>;
  /** GET with an `Accept` header. */
  getAs(path: string, accept: string): Promise<TestResponse>;
  /** Opens a watch. `next` returns one line at a time, `undefined` at the end. */
  watch(path: string): Promise<TestWatch>;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A watch under test. */
interface TestWatch {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- the same
  next(): Promise<{ type: string; object: any } | undefined>;
  /** Types and names of the next lines, such as `ADDED a`. */
  take(count: number): Promise<string[]>;
  stop(): void;
}

/** Content types of patches. */
export const patches = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** Starts a server for a test; by default without controllers, but with service accounts. */
export async function startTestServer(options: ApiServerOptions = {}): Promise<TestServer> {
  const clock = new VirtualClock();
  const server = await startApiServer({
    clock,
    random: new SeededRandom(1),
    listen: false,
    controllers: false,
    serviceAccounts: true,
    token: "admin-token",
    ...options,
  });
  const transport = server.transport();
  const send = async (
    method: Method,
    path: string,
    extra: { body?: string; headers?: Record<string, string> } = {},
  ): Promise<TestResponse> => {
    const response = await transport.request({ method, path, pool: "short", signal: new AbortController().signal, ...extra });
    return { status: response.status, headers: response.headers, body: await readBody(response) };
  };
  return {
    server,
    clock,
    request: (method, path, body, contentType = "application/json") =>
      body === undefined
        ? send(method, path)
        : send(method, path, { body: typeof body === "string" ? body : JSON.stringify(body), headers: { "content-type": contentType } }),
    getAs: (path, accept) => send("GET", path, { headers: { accept } }),
    watch: async (path) => {
      const abort = new AbortController();
      return testWatch(await transport.request({ method: "GET", path, pool: "long", signal: abort.signal }), abort);
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

async function readBody(response: InProcessResponse): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return response.headers["content-type"]?.startsWith("application/json") ? JSON.parse(text) : text;
}

function testWatch(response: InProcessResponse, abort: AbortController): TestWatch {
  const lines = linesOf(response.body);
  const next: TestWatch["next"] = async () => {
    const line = await lines.next();
    return line.done === true ? undefined : (JSON.parse(line.value) as { type: string; object: unknown });
  };
  const take = async (count: number): Promise<string[]> => {
    const taken: string[] = [];
    while (taken.length < count) {
      const event = await next();
      if (event === undefined) return [...taken, "end"];
      taken.push(`${event.type} ${event.object.metadata?.name ?? ""}`.trim());
    }
    return taken;
  };
  return { status: response.status, next, take, stop: () => abort.abort() };
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + Buffer.from(chunk).toString()).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** Pod that is bound to a node. */
export function boundPod(name: string, spec: object = {}, metadata: object = {}): Record<string, unknown> {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...metadata },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "busybox" }], ...spec },
  };
}

/** Path of a pod in the namespace `default`. */
export function podPath(name: string): string {
  return `/api/v1/namespaces/default/pods/${name}`;
}

/** Path of the pods in the namespace `default`. */
export const podsPath = "/api/v1/namespaces/default/pods";
