import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContextOptions, type TLSSocket } from "node:tls";
import { InvalidInputError, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, noTracer, silentLogger, type Logger, type Metrics, type Tracer } from "@virtual-kubelet/kube-client";
import { isSpdyRequest, isWebSocketRequest, type IncomingUpgrade } from "@virtual-kubelet/streaming";
import type { AccessControl } from "../access-control/access-control.ts";
import type { ServingCertificate } from "../certificates/serving-certificate.ts";
import type { HealthCheck } from "../routes/health.ts";
import { routeTable } from "../routes/route-table.ts";
import { Router } from "../routes/router.ts";
import { NodeDirectory, type ServedNode } from "../routes/served-node.ts";
import type { AuditOptions } from "../streams/audit.ts";
import { StreamBudgets } from "../streams/stream-budgets.ts";
import { StreamSlots } from "../streams/stream-slots.ts";
import { text, type Answer } from "./answer.ts";
import { ClientErrors } from "./client-errors.ts";
import { RequestPipeline, type IncomingRequest } from "./request-pipeline.ts";
import { IdleConnections } from "./idle-connections.ts";
import { OpenRequests } from "./open-requests.ts";
import { peerKey } from "./peer.ts";
import { RequestMetrics } from "./request-metrics.ts";
import { refuseOnSocket, sendAnswer } from "./send-answer.ts";
import { resolveServerLimits, type ResolvedServerLimits, type ServerLimits } from "./server-limits.ts";
import { UnauthorizedConnections } from "./unauthorized-connections.ts";
import { ThrottledLog } from "./throttled-log.ts";
import { secureContextOptions, tlsProtocolOptions, type TlsSettings } from "./tls-options.ts";

/** Options of a kubelet API server. */
export interface KubeletServerOptions {
  /** One node, or several that share the port. Read for each request. */
  readonly nodes: readonly ServedNode[];
  /** Whether the list {@link nodes} changes while the server runs, and may be empty. Default: `false`. */
  readonly nodesComeAndGo?: boolean | undefined;
  /** Address to listen on; empty for all. */
  readonly host: string;
  /** 0 for any free port. A kubelet's is 10250. */
  readonly port: number;
  readonly accessControl: AccessControl;
  readonly certificate: ServingCertificate;
  /** TLS versions and cipher suites. Default: TLS 1.3, and TLS 1.2 with forward secrecy and authenticated encryption. */
  readonly tls?: TlsSettings | undefined;
  /** The program's own metrics in Prometheus's text format, for `/metrics`. Default: none. */
  readonly renderMetrics?: (() => string | Promise<string>) | undefined;
  /** Why the log accepts no lines, for `/healthz`; `undefined` while it does. Default: the log is not checked. */
  readonly logProblem?: (() => string | undefined) | undefined;
  /** Checks for `/healthz` in addition to the kubelet's. Default: none. */
  readonly healthChecks?: readonly HealthCheck[] | undefined;
  readonly limits?: ServerLimits | undefined;
  /** What the log records of each access to a pod. Default: of a command, its program and the number of its arguments. */
  readonly audit?: AuditOptions | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Default: no log. */
  readonly logger?: Logger | undefined;
  /** Default: no metrics. */
  readonly metrics?: Metrics | undefined;
  /** Default: no traces. */
  readonly tracer?: Tracer | undefined;
}

/** A listening server. Disposing it ends all open requests, within {@link ServerLimits.shutdownMs}. */
export interface KubeletServer extends AsyncDisposable {
  /** Port for `status.daemonEndpoints` of the nodes. */
  readonly port: number;
}

/**
 * Starts the HTTPS server (HTTP/1.1) that answers kube-apiserver, kubectl and metrics-server like a kubelet.
 *
 * @throws InvalidInputError without nodes, or for an unusable certificate; the system's error if the address cannot be bound
 */
export async function startKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  if (options.nodes.length === 0 && options.nodesComeAndGo !== true)
    throw new InvalidInputError("start the node's HTTPS server: there are no nodes to serve");
  const server = new RunningServer(options);
  await server.listen(options);
  return server;
}

/** Source: Go's net, whose servers send keep-alive probes after 15 s of silence. */
const tcpKeepAliveMs = 15_000;

/** Maximum requests waiting for their answers on one connection. Kubelet clients do not pipeline, and each request takes memory. */
const maxPipelined = 16;

/** First path segments of requests that may upgrade the connection. */
const upgradeRoots: ReadonlySet<string | undefined> = new Set(["exec", "attach", "portForward"]);

class RunningServer implements KubeletServer {
  readonly #server: Server;
  readonly #pipeline: RequestPipeline;
  readonly #limits: ResolvedServerLimits;
  readonly #tls: TlsSettings;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #unauthorized: UnauthorizedConnections;
  readonly #idle = new IdleConnections();
  readonly #throttledLog: ThrottledLog;
  /** Separate from the other log: unauthenticated clients determine the kinds of handshake errors, and must not use up those for limits. */
  readonly #handshakeLog: ThrottledLog;
  readonly #requests = new OpenRequests();
  readonly #clientErrors: ClientErrors;
  readonly #certificateChanges: Disposable;
  /** Open requests with their abort controllers. */
  readonly #open = new Map<Promise<void>, AbortController>();
  /** All connections, including those in a TLS handshake and upgraded ones. */
  readonly #connections = new Set<Duplex>();
  /** Client CA that each connection's certificate was verified with, by {@link peerKey}. */
  readonly #judges = new Map<string, string | undefined>();
  /** Client CA that new connections are verified with. */
  #judge: string | undefined;
  #port = 0;

  constructor(options: KubeletServerOptions) {
    const {
      certificate,
      nodes,
      accessControl,
      clock = systemClock,
      logger = silentLogger,
      metrics = noMetrics,
      tracer = noTracer,
    } = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#limits = resolveServerLimits(options.limits);
    this.#unauthorized = new UnauthorizedConnections(this.#limits.maxUnauthorizedPerAddress);
    this.#throttledLog = new ThrottledLog({ clock, logger });
    this.#handshakeLog = new ThrottledLog({ clock, logger });
    this.#clientErrors = new ClientErrors(clock, this.#requests);
    const directory = new NodeDirectory(nodes);
    const routes = routeTable({
      directory,
      clock,
      logger,
      slots: new StreamSlots({ max: this.#limits.maxStreams, clock, throttledLog: this.#throttledLog }),
      budgets: new StreamBudgets({ ...this.#limits, throttledLog: this.#throttledLog }),
      streaming: this.#limits.streaming,
      audit: options.audit,
      logProblem: options.logProblem,
      tls: options.tls,
      port: () => this.#port,
      startedSeconds: clock.now() / 1000,
      renderOwnMetrics: options.renderMetrics ?? (() => ""),
      healthChecks: options.healthChecks ?? [],
    });
    this.#pipeline = new RequestPipeline({
      accessControl,
      directory,
      router: new Router(routes),
      metrics: new RequestMetrics({ metrics, clock }),
      logger,
      throttledLog: this.#throttledLog,
      tracer,
    });
    this.#judge = certificate.current().clientCa;
    this.#tls = options.tls ?? {};
    this.#server = this.#createServer(certificate);
    this.#certificateChanges = certificate.onChange(() => this.#reload(certificate));
  }

  get port(): number {
    return this.#port;
  }

  async listen({ host, port }: KubeletServerOptions): Promise<void> {
    try {
      this.#server.listen(port, host === "" ? undefined : host);
      await once(this.#server, "listening");
    } catch (error) {
      this.#certificateChanges[Symbol.dispose]();
      throw error;
    }
    this.#port = (this.#server.address() as AddressInfo).port;
    this.#server.on("error", (error) => this.#logger.error({ err: messageOf(error) }, "the node's server reported an error"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#certificateChanges[Symbol.dispose]();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    for (const controller of this.#open.values()) controller.abort(new UnavailableError("the node's server is stopping"));
    const timeout = new AbortController();
    const ended = Promise.allSettled(this.#open.keys());
    await Promise.race([ended, this.#clock.sleep(this.#limits.shutdownMs, timeout.signal).catch(() => {})]);
    timeout.abort();
    for (const socket of this.#connections) socket.destroy();
    await closed;
  }

  #createServer(certificate: ServingCertificate): Server {
    const limits = this.#limits;
    const server = createServer({
      ...usableContext(certificate, this.#tls),
      requestCert: true,
      rejectUnauthorized: false,
      ALPNProtocols: ["http/1.1"],
      handshakeTimeout: limits.handshakeTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.max(50, Math.min(1_000, limits.headersTimeoutMs / 4)),
      maxHeaderSize: limits.maxHeaderBytes,
      noDelay: true,
      // A silent log notices only this way that the client's machine is gone.
      keepAlive: true,
      keepAliveInitialDelay: tcpKeepAliveMs,
      ...upgradeOptions,
    });
    server.on("connection", (socket) => {
      const key = peerKey(socket as Socket);
      this.#connections.add(socket);
      this.#judges.set(key, this.#judge);
      socket.once("close", () => {
        this.#connections.delete(socket);
        this.#judges.delete(key);
      });
      this.#makeRoom(socket as Socket);
    });
    // Runs before https's own listener, which closes the connection and so loses its address.
    server.prependListener("tlsClientError", (error: Error & { readonly code?: string }, socket) => {
      const { code = "UNKNOWN" } = error;
      this.#handshakeLog.log("info", code, { code, address: socket.remoteAddress }, "a TLS handshake failed");
    });
    server.on("clientError", (error, socket) => this.#clientErrors.handle(error, socket));
    server.on("request", (request, response) => this.#onRequest(request, response));
    server.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
    return server;
  }

  /** Admits a connection, and closes another one if there are too many. */
  #makeRoom(socket: Socket): void {
    const logLimit = (limit: "maxUnauthorizedPerAddress" | "maxConnections"): void =>
      this.#throttledLog.log(
        "warn",
        limit,
        { limit, max: this.#limits[limit], address: socket.remoteAddress },
        "too many connections are open: an unauthorized one is closed, or else the one that has been idle longest",
      );
    if (this.#connections.size > this.#limits.maxConnections) {
      logLimit("maxConnections");
      if (!this.#unauthorized.evictOldest() && !this.#idle.evictOldest()) {
        socket.destroy();
        return;
      }
    }
    if (this.#unauthorized.add(socket)) logLimit("maxUnauthorizedPerAddress");
  }

  #reload(certificate: ServingCertificate): void {
    try {
      const tls = certificate.current();
      this.#server.setSecureContext(secureContextOptions(tls, this.#tls));
      this.#judge = tls.clientCa;
      this.#logger.info({}, "the node's server uses a new certificate or client CA");
    } catch (error) {
      this.#logger.error({ err: messageOf(error) }, "the node's server keeps its certificate: the new one cannot be used");
    }
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    // A client that disconnects is not an error of the server.
    response.on("error", () => {});
    request.on("error", () => {});
    const { socket } = request;
    if (socket.destroyed) return;
    if (this.#requests.count(socket) >= maxPipelined) {
      socket.destroy();
      return;
    }
    this.#track((controller) => {
      const end = (): void => {
        open[Symbol.dispose]();
        controller.abort(new UnavailableError("the client has disconnected"));
      };
      const open = this.#requests.add(socket, end);
      this.#idle.busy(socket);
      response.on("close", () => {
        end();
        if (this.#requests.count(socket) === 0) this.#idle.idle(socket);
      });
      return this.#serve(request, controller.signal, undefined, (answer) => {
        // The rest of the request's body is not read, so the connection cannot be reused.
        if (!request.complete) response.setHeader("connection", "close");
        return sendAnswer(response, answer, controller.signal);
      });
    });
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => {});
    this.#idle.busy(socket);
    // A response in progress would be mixed with the upgraded protocol.
    if (socket.destroyed || this.#requests.count(socket) > 0) {
      socket.destroy();
      return;
    }
    this.#track((controller) => {
      socket.once("close", () => controller.abort(new UnavailableError("the client has disconnected")));
      return this.#serve(request, controller.signal, { request, socket, head }, async (answer) => {
        if (!("taken" in answer)) refuseOnSocket(socket, answer, this.#clock);
      });
    });
  }

  #track(serve: (controller: AbortController) => Promise<void>): void {
    const controller = new AbortController();
    const done = serve(controller)
      .catch((error: unknown) => this.#logger.warn({ err: messageOf(error) }, "a request could not be served"))
      .finally(() => this.#open.delete(done));
    this.#open.set(done, controller);
  }

  async #serve(
    request: IncomingMessage,
    signal: AbortSignal,
    upgrade: IncomingUpgrade | undefined,
    send: (answer: Answer) => Promise<void>,
  ): Promise<void> {
    if (request.rawHeaders.length / 2 > this.#limits.maxHeaders) {
      await send(text("431: Request Header Fields Too Large: too many headers", 431, { connection: "close" }));
      return;
    }
    const socket = request.socket as TLSSocket;
    const { method = "", url = "", headers } = request;
    const incoming: IncomingRequest = { method, url, headers, socket, judgedBy: this.#judges.get(peerKey(socket)), upgrade, signal };
    await this.#pipeline.handle(incoming, send, () => this.#unauthorized.delete(socket));
  }
}

/** @throws InvalidInputError if the server's own certificate is unusable */
function usableContext(certificate: ServingCertificate, tls: TlsSettings): SecureContextOptions {
  // Checked separately, because these errors are about the settings and not about the certificate.
  tlsProtocolOptions(tls);
  try {
    const options = secureContextOptions(certificate.current(), tls);
    createSecureContext(options);
    return options;
  } catch (error) {
    throw new InvalidInputError(`start the node's HTTPS server: its certificate, key or client CA cannot be used: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Supported by Node.js 22 from 22.21 on; missing in its types. */
const upgradeOptions = { shouldUpgradeCallback: isUpgrade };

/** Whether Node should hand over the connection. All other upgrade requests are answered as ordinary requests. */
function isUpgrade(request: IncomingMessage): boolean {
  const segments = (request.url ?? "").split("?", 1)[0]?.split("/", 4) ?? [];
  const root = segments[1] === "nodes" ? segments[3] : segments[1];
  return upgradeRoots.has(root) && (isSpdyRequest(request) || isWebSocketRequest(request));
}
