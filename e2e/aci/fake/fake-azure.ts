import { systemClock, systemRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import type { ContainerHost } from "../../support/container-host/container-host.ts";
import { ArmError } from "./arm-error.ts";
import { parseArmPath, type ArmAnswer, type ArmRequest } from "./arm-request.ts";
import { CallLimiter, noLimits, type CallClass, type CallLimits } from "./call-limits.ts";
import { ExecSockets } from "./exec-sockets.ts";
import { FakeContainerInstances } from "./fake-container-instances.ts";
import { usualTimings, type FakeContainerGroup, type GroupTimings } from "./fake-container-group.ts";
import { monitorMetrics, realtimeMetrics, realtimeMetricsPort } from "./fake-metrics.ts";
import { FakeNetwork } from "./fake-network.ts";
import { FaultRules } from "./fault-rules.ts";
import { TokenService, type FakeCredentials } from "./token-service.ts";

/** Options of a {@link FakeAzure}. */
export interface FakeAzureOptions {
  readonly host: ContainerHost;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Default: the machine's. */
  readonly random?: Random | undefined;
  /** Default: {@link usualTimings}. */
  readonly timings?: GroupTimings | undefined;
  /** Default: {@link noLimits}. */
  readonly limits?: CallLimits | undefined;
  /** Container groups on one page of a list. Default: 50. */
  readonly pageSize?: number | undefined;
  readonly credentials?: FakeCredentials | undefined;
  /** Whether groups with the extension `realtime-metrics` serve it at their addresses, which must be loopback addresses. Default: false. */
  readonly servesRealtimeMetrics?: boolean | undefined;
}

/** A request that the fake has received. */
export interface SeenCall {
  readonly kind: CallClass;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: unknown;
  readonly atMs: number;
  /** `undefined` if there was no answer. */
  status: number | undefined;
}

/** Subscription and resource group that exist, and the credentials that are accepted. */
export const fakeAccount = {
  subscriptionId: "11111111-1111-4111-8111-111111111111",
  resourceGroup: "pods",
  location: "westeurope",
  tenantId: "22222222-2222-4222-8222-222222222222",
  clientId: "33333333-3333-4333-8333-333333333333",
  clientSecret: "client-secret-of-the-fake",
} as const;

/**
 * Azure as far as a node of container groups needs it: the token service and instance metadata, Microsoft.ContainerInstance with its WebSockets,
 * subnets, Azure Monitor and realtime metrics. It refuses what the service's schema and documented rules refuse. {@link handle} answers requests
 * without a server; {@link listen} serves them.
 */
export class FakeAzure implements AsyncDisposable {
  readonly clock: Clock;
  readonly tokens: TokenService;
  readonly network: FakeNetwork = new FakeNetwork();
  readonly sockets: ExecSockets;
  readonly instances: FakeContainerInstances;
  readonly limiter: CallLimiter;
  readonly faults: FaultRules = new FaultRules();
  readonly calls: SeenCall[] = [];
  /** Ports of clients whose requests wait for the clock or are never answered. */
  readonly heldPorts: Set<number> = new Set<number>();
  /** Bytes in which bodies of answers are sent, so that lines and characters are split. Default: in one piece. */
  chunkBytes: number | undefined;
  /** All connections are dropped. */
  isAway = false;
  readonly #cleanup = new AsyncDisposableStack();
  #base = "https://management.azure.example";
  #caCertificate = "";

  constructor(options: FakeAzureOptions) {
    const { host, clock = systemClock, random = systemRandom, timings = usualTimings, limits = noLimits, pageSize = 50 } = options;
    const { tenantId, clientId, clientSecret, subscriptionId, resourceGroup } = fakeAccount;
    this.clock = clock;
    this.tokens = new TokenService(options.credentials ?? { tenantId, clientId, clientSecret, assertions: new Set() }, clock, random);
    this.limiter = new CallLimiter(limits, clock);
    this.sockets = new ExecSockets(random);
    this.instances = new FakeContainerInstances({
      clock,
      random,
      host,
      timings,
      limiter: this.limiter,
      sockets: this.sockets,
      subscription: subscriptionId,
      resourceGroups: [resourceGroup],
      pageSize,
      startExtensions: async (group) => {
        const types = (group.body.properties.extensions ?? []).map(({ properties }) => properties?.extensionType);
        return options.servesRealtimeMetrics && types.includes("realtime-metrics")
          ? serveRealtimeMetrics(group, clock)
          : new AsyncDisposableStack();
      },
    });
    this.#cleanup.defer(() => this.instances.loseAll());
    this.#cleanup.use(this.sockets);
  }

  /** URL of Azure Resource Manager and of the token service. */
  get url(): string {
    return this.#base;
  }

  /** PEM of the authority that has issued the server's certificate; empty before {@link listen}. */
  get caCertificate(): string {
    return this.#caCertificate;
  }

  /** Serves requests over TLS on a free loopback port. */
  async listen(): Promise<void> {
    const authority = createCertificateAuthority("fake Azure");
    const { certificate, key } = authority.issue({
      commonName: "management.azure.example",
      usages: ["server auth"],
      names: ["127.0.0.1", "localhost"],
    });
    this.#caCertificate = authority.certificate;
    const server = createServer({ cert: certificate, key }, (request, response) => void this.#serve(request, response));
    // A connection that is closed while the next request is on its way would be a fault of its own.
    server.keepAliveTimeout = 0;
    server.on("upgrade", (request, socket, head) => {
      if (this.isAway) socket.destroy();
      else this.sockets.upgrade(request, socket, head);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#cleanup.defer(() => closeServer(server));
    this.#base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /**
   * Serves the instance metadata service and, at `/GROUP/v1/stats`, the realtime metrics of each container group, without TLS.
   *
   * @returns URL of the server
   */
  async listenPlain(): Promise<string> {
    const server = createHttpServer((request, response) => void this.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#cleanup.defer(() => closeServer(server));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Number of requests of each class since a time. */
  count(kind: CallClass, sinceMs = 0): number {
    return this.calls.filter((call) => call.kind === kind && call.atMs >= sinceMs).length;
  }

  /** Answers a request. @returns `drop` if the connection is closed without an answer; `never` if it stays open without one */
  async handle(request: ArmRequest): Promise<ArmAnswer | "drop" | "never"> {
    const { method, path, query, body } = request;
    const kind = classOf(request);
    const call: SeenCall = { kind, method, path, query: query.toString(), body, atMs: this.clock.now(), status: undefined };
    this.calls.push(call);
    if (this.isAway) return "drop";
    const { clientPort = 0 } = request;
    const rule = this.faults.take(method, call.query === "" ? path : `${path}?${call.query}`);
    const real =
      rule?.when !== "after" && rule !== undefined && typeof rule.answer !== "function" ? undefined : await this.#answer(request, kind);
    const answer = rule === undefined ? real : typeof rule.answer === "function" ? real && (await rule.answer(real)) : rule.answer;
    if (answer === undefined || answer === "drop") return "drop";
    if (answer === "never") return answer;
    if (rule?.delayMs !== undefined) {
      this.heldPorts.add(clientPort);
      await this.clock.sleep(rule.delayMs);
      this.heldPorts.delete(clientPort);
    }
    call.status = answer.status;
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cleanup.disposeAsync();
  }

  async #answer(request: ArmRequest, kind: CallClass): Promise<ArmAnswer> {
    try {
      const token = this.tokens.answer(request, this.#base);
      if (token) return token;
      return await this.#resource(request, kind);
    } catch (error) {
      if (error instanceof ArmError) return error.toAnswer();
      throw error;
    }
  }

  async #resource(request: ArmRequest, kind: CallClass): Promise<ArmAnswer> {
    const state = this.tokens.stateOf(request.headers["authorization"]);
    if (state !== "valid") {
      const [code, message] =
        state === "expired"
          ? ["ExpiredAuthenticationToken", "The access token has expired."]
          : ["InvalidAuthenticationToken", "The access token is invalid."];
      throw new ArmError(401, code ?? "", message ?? "", {
        "www-authenticate": `Bearer error="invalid_token", error_description="${message}"`,
      });
    }
    const path = parseArmPath(request.path);
    if (!path) throw new ArmError(404, "NotFound", `${request.path} is not a path of a resource.`);
    if (path.subscription !== fakeAccount.subscriptionId)
      throw new ArmError(404, "SubscriptionNotFound", `The subscription '${path.subscription}' could not be found.`);
    if (!/^\d{4}-\d\d-\d\d(-preview)?$/.test(request.query.get("api-version") ?? ""))
      throw new ArmError(
        400,
        "MissingApiVersionParameter",
        "The api-version query parameter (?api-version=) is required for all requests.",
      );
    this.limiter.admit(kind);
    const [, id, name] = /^(.*\/containerGroups\/([^/]+))\/providers\/microsoft\.insights\/metrics$/i.exec(request.path) ?? [];
    if (id !== undefined && name !== undefined) return monitorMetrics(request, id, this.instances.group(name), this.clock);
    if (path.provider === "microsoft.network") return this.network.answer(request, path);
    if (path.provider === "microsoft.containerinstance") return this.instances.answer(request, path, this.#base);
    throw new ArmError(404, "InvalidResourceNamespace", `The resource namespace '${path.provider}' is invalid.`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.#base);
    const raw = await readText(request).catch(() => undefined);
    // The caller has left.
    if (raw === undefined) return;
    const [, group] = /^\/([^/]+)\/v1\/stats$/.exec(url.pathname) ?? [];
    if (group !== undefined && !this.isAway) {
      response.end(JSON.stringify(await realtimeMetrics(this.instances.group(group), this.clock)));
      return;
    }
    const answer = await this.handle({
      method: request.method ?? "GET",
      path: url.pathname,
      query: url.searchParams,
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, value?.toString()])),
      body: parseBody(raw, request.headers["content-type"] ?? ""),
      clientPort: request.socket.remotePort,
    });
    if (answer === "drop") {
      request.socket.destroy();
      return;
    }
    if (answer === "never") {
      const { remotePort = 0 } = request.socket;
      this.heldPorts.add(remotePort);
      request.socket.once("close", () => this.heldPorts.delete(remotePort));
      return;
    }
    const { status, headers = {}, body } = answer;
    const date = new Date(this.clock.now()).toUTCString();
    response.writeHead(status, { date, ...(body !== undefined && { "content-type": "application/json; charset=utf-8" }), ...headers });
    const text = Buffer.from(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));
    const size = this.chunkBytes ?? Math.max(1, text.length);
    for (let at = 0; at < text.length; at += size) {
      response.write(text.subarray(at, at + size));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  }
}

function classOf({ method, path }: ArmRequest): CallClass {
  if (/\/oauth2\/|\/\.well-known\/|\/discovery\//i.test(path)) return "token";
  if (/\/microsoft\.insights\//i.test(path)) return "metrics";
  if (/\/microsoft\.network\//i.test(path)) return "network";
  if (!path.startsWith("/subscriptions/")) return "other";
  return method === "GET" ? "read" : method === "DELETE" ? "delete" : "write";
}

function parseBody(raw: string, type: string): unknown {
  if (raw === "") return undefined;
  if (type.startsWith("application/x-www-form-urlencoded")) return Object.fromEntries(new URLSearchParams(raw));
  try {
    return JSON.parse(raw);
  } catch {
    return raw;
  }
}

/** Serves the realtime metrics of a container group at its address. */
async function serveRealtimeMetrics(group: FakeContainerGroup, clock: Clock): Promise<AsyncDisposable> {
  const server = createHttpServer((_request, response) => {
    void realtimeMetrics(group, clock).then((body) => response.end(JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => server.listen(realtimeMetricsPort, group.address, resolve));
  return { [Symbol.asyncDispose]: () => closeServer(server) };
}

async function closeServer(server: Server | ReturnType<typeof createHttpServer>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
