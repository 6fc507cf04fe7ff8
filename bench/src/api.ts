import { readFileSync } from "node:fs";
import { Agent, type Dispatcher } from "undici";

/** How a benchmark's program reaches the API server. */
export interface ApiAccess {
  readonly server: string;
  readonly ca: string;
  readonly credentials: { readonly token: string } | { readonly cert: string; readonly key: string };
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: { readonly server: string; readonly "certificate-authority-data": string } }];
  readonly users: readonly [
    { readonly user: { readonly token: string } | { readonly "client-certificate-data": string; readonly "client-key-data": string } },
  ];
}

/** Reads a kubeconfig of the launcher or the embedded server. Both are JSON, so the bare loop does not load a YAML parser. */
export function readAccess(kubeconfigFile: string): ApiAccess {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfigFile, "utf8")) as Kubeconfig;
  const decode = (base64: string): string => Buffer.from(base64, "base64").toString();
  const { cluster } = clusters[0];
  const { user } = users[0];
  return {
    server: cluster.server,
    ca: decode(cluster["certificate-authority-data"]),
    credentials: "token" in user ? user : { cert: decode(user["client-certificate-data"]), key: decode(user["client-key-data"]) },
  };
}

/** A minimal client: undici, JSON, no retries. */
export class Api {
  readonly #server: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ server, ca, credentials }: ApiAccess, options: { readonly connections: number; readonly http2?: boolean }) {
    this.#server = server;
    const isToken = "token" in credentials;
    this.#headers = { accept: "application/json", ...(isToken ? { authorization: `Bearer ${credentials.token}` } : {}) };
    this.#agent = new Agent({
      connections: options.connections,
      allowH2: options.http2 ?? false,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 60_000,
      connect: { ca, ...(isToken ? {} : credentials) },
    });
  }

  /** Sends a request and reads the response. @throws Error if the status is 400 or higher */
  async send(method: Dispatcher.HttpMethod, path: string, body?: unknown, contentType = "application/json"): Promise<string> {
    const response = await this.#request(method, path, body, contentType);
    const text = await response.body.text();
    if (response.statusCode >= 400) throw new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 300)}`);
    return text;
  }

  /** Opens a watch and calls `onLine` with each line until the server ends the watch. */
  async watch(path: string, onLine: (line: string) => void): Promise<void> {
    const response = await this.#request("GET", path, undefined, "application/json");
    if (response.statusCode >= 400) throw new Error(`GET ${path}: ${response.statusCode} ${await response.body.text()}`);
    let rest = "";
    response.body.setEncoding("utf8");
    for await (const chunk of response.body) {
      rest += chunk;
      let start = 0;
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
        onLine(rest.slice(start, end));
        start = end + 1;
      }
      rest = rest.slice(start);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #request(method: Dispatcher.HttpMethod, path: string, body: unknown, contentType: string): Promise<Dispatcher.ResponseData> {
    return this.#agent.request({
      origin: this.#server,
      method,
      path,
      headers: { ...this.#headers, "content-type": contentType },
      body: body === undefined ? null : JSON.stringify(body),
      reset: false,
    });
  }
}

/**
 * Lists pods, then watches them from that version until aborted; resumes when the server ends a watch.
 *
 * @param query - the selection, as a URL's query
 */
export async function followPods(
  api: Api,
  query: string,
  onEvent: (type: string, pod: WatchedPod) => void,
  signal: AbortSignal,
): Promise<void> {
  const list = JSON.parse(await api.send("GET", `/api/v1/pods?${query}`)) as { metadata: { resourceVersion: string }; items: WatchedPod[] };
  let resourceVersion = list.metadata.resourceVersion;
  for (const pod of list.items) onEvent("ADDED", pod);
  while (!signal.aborted) {
    try {
      await api.watch(`/api/v1/pods?${query}&watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`, (line) => {
        const event = JSON.parse(line) as { type: string; object: WatchedPod };
        resourceVersion = event.object.metadata.resourceVersion;
        if (event.type !== "BOOKMARK") onEvent(event.type, event.object);
      });
    } catch (error) {
      if (signal.aborted) return;
      process.stderr.write(`watch: ${String(error)}\n`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Fields of a pod that the benchmarks read. */
export interface WatchedPod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
  readonly status?: { readonly phase?: string };
}
