import type { Clock } from "@virtual-kubelet/clock";
import type { CertificateAuthority } from "@virtual-kubelet/pki";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  Agent as HttpAgent,
  createServer as createHttpServer,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, createServer as createHttpsServer, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { bearerOf, type ApiServerTarget } from "../control-plane/api-request.ts";
import { FaultRules } from "./fault-rules.ts";
import {
  isBodyFault,
  matches,
  statusObject,
  type BodyFault,
  type MatchableRequest,
  type RequestFault,
  type RequestMatch,
} from "./faults.ts";
import { FaultyBody } from "./faulty-body.ts";
import { RequestLog, type ProxiedRequest } from "./request-log.ts";

/** A logged request whose response is still being recorded. */
type OpenRequest = { -readonly [Key in keyof ProxiedRequest]: ProxiedRequest[Key] };

/** HTTP server of a fault proxy: applies the faults to matching requests and forwards the rest. */
export class ProxyServer {
  readonly rules: FaultRules = new FaultRules();
  readonly log: RequestLog = new RequestLog();
  /** Token that selects the target's credentials. */
  readonly token: string = randomBytes(24).toString("base64url");
  /** Number of connections accepted so far. */
  connections = 0;
  readonly #target: ApiServerTarget;
  readonly #clock: Clock;
  readonly #bodies = new Map<FaultyBody, MatchableRequest>();
  readonly #sockets = new Set<Socket>();
  readonly #closed = new AbortController();
  /** Agents with the target's client certificate (`own`) and without (`callers`). */
  readonly #agents: { readonly own: HttpAgent; readonly callers: HttpAgent };
  #server: ReturnType<typeof createHttpServer> | undefined;

  constructor(target: ApiServerTarget, clock: Clock) {
    this.#target = target;
    this.#clock = clock;
    const { caCertificate: ca, credentials } = target;
    const certificate =
      credentials !== undefined && "certificate" in credentials ? { cert: credentials.certificate, key: credentials.key } : {};
    const agent = (identity: object): HttpAgent =>
      target.server.startsWith("https:") ? new HttpsAgent({ keepAlive: true, ca, ...identity }) : new HttpAgent({ keepAlive: true });
    this.#agents = { own: agent(certificate), callers: agent({}) };
  }

  async listen(authority: CertificateAuthority | undefined): Promise<number> {
    // Idle connections stay open, like those of an API server, and long requests are not cut.
    const settings = { keepAliveTimeout: 120_000, requestTimeout: 0 };
    const handle = (request: IncomingMessage, response: ServerResponse): void => void this.#handle(request, response);
    const serving = authority?.issue({ commonName: "fault-proxy", names: ["127.0.0.1", "localhost"], usages: ["server auth"] });
    const server =
      serving === undefined
        ? createHttpServer(settings, handle)
        : createHttpsServer({ ...settings, cert: serving.certificate, key: serving.key }, handle);
    server.on("connection", (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server = server;
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const socket of this.#sockets) socket.destroy();
    this.#agents.own.destroy();
    this.#agents.callers.destroy();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  matchingBodies(match: RequestMatch): FaultyBody[] {
    return [...this.#bodies].filter(([, request]) => matches(match, request)).map(([body]) => body);
  }

  disrupt(match: RequestMatch, fault: BodyFault): number {
    const bodies = this.matchingBodies(match);
    for (const body of bodies) body.apply(fault);
    return bodies.length;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const entry = this.#record(request);
    const fault = this.rules.take({ ...entry, authorization: request.headers.authorization ?? "" });
    entry.fault = fault?.kind;
    response.on("error", () => undefined);
    response.once("finish", () => (entry.status = response.statusCode));
    if (fault !== undefined && !isBodyFault(fault) && (await this.#fail(fault, request, response)) === "done") return;
    const bodyFault = fault !== undefined && isBodyFault(fault) ? fault : undefined;
    const upstream = this.#forward(request, (answer) => void this.#relay(entry, { answer, response }, bodyFault));
    response.once("close", () => {
      if (!response.writableFinished) upstream.destroy();
    });
  }

  async #fail(fault: RequestFault, request: IncomingMessage, response: ServerResponse): Promise<"done" | "go on"> {
    switch (fault.kind) {
      case "status":
        answerStatus(request, response, fault);
        return "done";
      case "expired-credentials":
        answerStatus(request, response, { status: 401, message: "Unauthorized" });
        return "done";
      case "drop":
        if (fault.forward === true) this.#forward(request, (answer) => void answer.on("error", () => undefined).resume());
        else request.resume();
        return "done";
      case "reset":
        if (fault.forward === true)
          this.#forward(request, (answer) => {
            answer.on("error", () => undefined).resume();
            this.#reset(request.socket);
          });
        else this.#reset(request.socket);
        return "done";
      case "delay":
        await this.#clock.sleep(fault.ms, this.#closed.signal).catch(() => undefined);
        return "go on";
    }
  }

  /** Resets the connection; only the TCP socket below a TLS socket can be reset. */
  #reset(socket: Socket): void {
    const { remotePort } = socket;
    const tcp = [...this.#sockets].find((candidate) => candidate.remotePort === remotePort);
    tcp?.resetAndDestroy();
  }

  #record(request: IncomingMessage): OpenRequest {
    const path = request.url ?? "/";
    const watch = /[?&]watch=(?:true|1)(?:&|$)/.test(path);
    const entry: OpenRequest = {
      method: request.method ?? "GET",
      path,
      watch,
      atMs: this.#clock.monotonic(),
      status: undefined,
      fault: undefined,
    };
    this.log.entries.push(entry);
    return entry;
  }

  /** Forwards the request. If the API server cannot be reached, the caller's connection breaks as a direct one would. */
  #forward(request: IncomingMessage, onAnswer: (answer: IncomingMessage) => void): ClientRequest {
    const { authorization, host: _host, connection: _connection, "accept-encoding": _encoding, ...headers } = request.headers;
    const own = authorization === `Bearer ${this.token}`;
    const bearer = own ? bearerOf(this.#target.credentials) : undefined;
    const passedOn = own ? (bearer === undefined ? undefined : `Bearer ${bearer}`) : authorization;
    const send = this.#target.server.startsWith("https:") ? httpsRequest : httpRequest;
    const options: RequestOptions = {
      agent: own ? this.#agents.own : this.#agents.callers,
      method: request.method,
      headers: { ...headers, ...(passedOn === undefined ? {} : { authorization: passedOn }) },
    };
    const upstream = send(new URL(request.url ?? "/", this.#target.server), options, onAnswer);
    upstream.on("error", () => request.socket.destroy());
    request.pipe(upstream);
    return upstream;
  }

  async #relay(
    entry: OpenRequest,
    exchange: { readonly answer: IncomingMessage; readonly response: ServerResponse },
    fault: BodyFault | undefined,
  ): Promise<void> {
    const { answer, response } = exchange;
    const { connection: _connection, "keep-alive": _keepAlive, "transfer-encoding": _encoding, ...headers } = answer.headers;
    // The length of a changed body is unknown.
    if (fault !== undefined) delete headers["content-length"];
    entry.status = answer.statusCode;
    response.writeHead(answer.statusCode ?? 502, headers).flushHeaders();
    const body = new FaultyBody(response, { clock: this.#clock, reset: () => this.#reset(response.req.socket) });
    this.#bodies.set(body, entry);
    response.once("close", () => this.#bodies.delete(body));
    if (fault !== undefined) body.apply(fault);
    try {
      for await (const chunk of answer) await body.pass(chunk as Buffer);
      body.end();
    } catch {
      response.destroy();
    }
  }
}

function answerStatus(request: IncomingMessage, response: ServerResponse, fields: Parameters<typeof statusObject>[0]): void {
  request.resume();
  const body = JSON.stringify(statusObject(fields));
  const retryAfter = fields.retryAfterSeconds === undefined ? {} : { "retry-after": String(fields.retryAfterSeconds) };
  response.writeHead(fields.status, { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...retryAfter });
  response.end(body);
}
