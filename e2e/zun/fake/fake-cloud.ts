import { startReaper } from "@virtual-kubelet/testing";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { ApiFault } from "./api-fault.ts";
import { serveExecProxy } from "./exec-proxy.ts";
import { FakeCinder } from "./fake-cinder.ts";
import { cloudPassword, FakeKeystone, unauthorized, type KeystoneAnswer } from "./fake-keystone.ts";
import { FakeNeutron } from "./fake-neutron.ts";
import { FakeZun, type ZunCall } from "./fake-zun.ts";

/** A request as received by the cloud, for tests that check requests. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly version: string | undefined;
  readonly body: unknown;
}

/** Faults of the cloud. */
export interface CloudFaults {
  /** All connections are dropped. */
  away?: boolean;
  /** Zun's lists fail with 503 after their first page, or at once. */
  listsFail?: boolean;
  /** Requests with that method and path (including the query) get this response and are not carried out. */
  answerWith?: { readonly method: string; readonly path: RegExp; readonly status?: number; readonly body: unknown };
  /** Changes the responses to requests with that method and path (including the query). */
  alter?: { readonly method: string; readonly path: RegExp; readonly body: (answer: unknown) => unknown };
  /** The next request with that method and path is carried out, and its response is lost. */
  loseAnswer?: { readonly method: string; readonly path: RegExp };
}

/** Milliseconds between two syncs of Zun; Zun's default is one minute. */
const syncMs = 500;

/**
 * A fake cloud in this process: Keystone, Neutron and Zun, with processes of this machine as containers. It refuses the same requests
 * as they do: each is checked with Zun's schemas, exported from zun 18.0.0.
 */
export class FakeCloud implements AsyncDisposable {
  readonly zun: FakeZun;
  readonly neutron: FakeNeutron = new FakeNeutron();
  readonly cinder: FakeCinder = new FakeCinder();
  readonly faults: CloudFaults = {};
  readonly seen: SeenRequest[] = [];
  /** Newest API version of Zun. */
  maxVersion = "1.40";
  readonly #server: Server;
  readonly #disposables: AsyncDisposableStack;
  #keystone: FakeKeystone | undefined;

  private constructor(server: Server, disposables: AsyncDisposableStack, zun: FakeZun) {
    this.#server = server;
    this.#disposables = disposables;
    this.zun = zun;
  }

  /**
   * Starts the cloud on a free loopback port.
   *
   * @param containerUrl - URL of Zun; default: the fake
   */
  static async start({ containerUrl }: { readonly containerUrl?: string } = {}): Promise<FakeCloud> {
    const disposables = new AsyncDisposableStack();
    const zun = new FakeZun(disposables.use(startReaper()));
    const server = createServer((request, response) => void cloud.#serve(request, response));
    const cloud: FakeCloud = new FakeCloud(server, disposables, zun);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    disposables.defer(async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    });
    disposables.use(serveExecProxy(server, zun));
    const base = `http://127.0.0.1:${cloud.#port}`;
    cloud.#keystone = new FakeKeystone({
      container: containerUrl ?? `${base}/container/v1`,
      network: `${base}/network`,
      volume: `${base}/volume`,
      identity: `${base}/identity`,
    });
    zun.proxyUrl = `ws://127.0.0.1:${cloud.#port}/`;
    const timer = setInterval(() => zun.sync(), syncMs);
    disposables.defer(() => clearInterval(timer));
    disposables.use(zun);
    return cloud;
  }

  /** Keystone of this cloud. */
  get keystone(): FakeKeystone {
    if (!this.#keystone) throw new Error("the cloud is not started");
    return this.#keystone;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The provider's configuration for this cloud. */
  get config(): object {
    return {
      authUrl: `http://127.0.0.1:${this.#port}/identity`,
      username: "demo",
      password: cloudPassword,
      projectName: "demo",
      userDomainName: "Default",
      projectDomainName: "Default",
      pollInterval: "500ms",
    };
  }

  /** Stops all containers and servers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#disposables[Symbol.asyncDispose]();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.faults.away) {
      request.socket.destroy();
      return;
    }
    const url = new URL(request.url ?? "/", "http://cloud");
    const { method = "GET" } = request;
    const body = method === "POST" || method === "PUT" ? await json(request).catch(() => undefined) : undefined;
    const version = request.headers["openstack-api-version"]?.toString();
    this.seen.push({ method, path: `${url.pathname}${url.search}`, version, body });
    const { answerWith, alter } = this.faults;
    const pathAndQuery = `${url.pathname}${url.search}`;
    const isOdd = answerWith?.method === method && answerWith.path.test(pathAndQuery);
    const {
      status,
      headers = {},
      body: plain,
    } = isOdd
      ? { status: answerWith.status ?? 200, body: answerWith.body }
      : await this.#answer(request, { method, path: url.pathname, query: Object.fromEntries(url.searchParams), body });
    const answer = alter?.method === method && alter.path.test(pathAndQuery) ? alter.body(plain) : plain;
    if (this.#loses(method, url.pathname)) {
      request.socket.destroy();
      return;
    }
    response.writeHead(status, { ...(answer !== undefined && { "content-type": "application/json" }), ...headers });
    response.end(answer === undefined ? undefined : JSON.stringify(answer));
  }

  async #answer(request: IncomingMessage, call: ZunCall): Promise<KeystoneAnswer> {
    const [, service = "", ...rest] = call.path.split("/");
    const path = `/${rest.join("/")}`;
    if (service === "identity") return this.keystone.answer({ ...call, path, headers: request.headers });
    if (service === "container" && path === "/") return { status: 200, body: versionDocument(this.maxVersion) };
    if (!this.keystone.tokens.has(String(request.headers["x-auth-token"]))) return unauthorized;
    if (service === "volume") return this.cinder.answer({ ...call, path: path.replace(/^\/v3/, "") });
    if (service === "network") return this.neutron.answer({ ...call, path: path.replace(/^\/v2\.0/, "") });
    const isList = call.method === "GET" && /^\/v1\/(containers|capsules)\/$/.test(path) && call.query["limit"] !== "1";
    if (this.faults.listsFail && isList) return { status: 503, body: "<html><body>503 Service Unavailable</body></html>" };
    try {
      return await this.zun.answer({ ...call, path: path.replace(/^\/v1/, "") });
    } catch (error) {
      if (error instanceof ApiFault) return { status: error.status, body: error.toZunBody() };
      return { status: 500, body: new ApiFault(500, "container.", "Error Correlation id is: 00000000").toZunBody() };
    }
  }

  #loses(method: string, path: string): boolean {
    const { loseAnswer } = this.faults;
    if (!loseAnswer || loseAnswer.method !== method || !loseAnswer.path.test(path)) return false;
    delete this.faults.loseAnswer;
    return true;
  }
}

/** Version document of the API. Recorded from zun-api 18.0.0, 2026-11. */
function versionDocument(max: string): object {
  return {
    name: "OpenStack Zun API",
    description: "Zun is an OpenStack project which aims to provide containers service.",
    versions: [{ id: "v1", status: "CURRENT", min_version: "1.1", max_version: max, links: [] }],
    default_version: { id: "v1", status: "CURRENT", min_version: "1.1", max_version: max, links: [] },
  };
}
