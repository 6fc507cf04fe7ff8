import type { IncomingHttpHeaders } from "node:http";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Logger, SpanAttributes, Tracer } from "@virtual-kubelet/kube-client";
import { isWebSocketRequest, type IncomingUpgrade } from "@virtual-kubelet/streaming";
import type { AccessControl, CredentialSource, User } from "../access-control/access-control.ts";
import { subresourcesOf, verbOf } from "../routes/access-rules.ts";
import { refusalOf } from "../routes/provider-error.ts";
import type { KubeletRequest } from "../routes/route.ts";
import type { Router } from "../routes/router.ts";
import type { NodeDirectory, ServedNode } from "../routes/served-node.ts";
import { shortened } from "../streams/audit.ts";
import { text, type Answer } from "./answer.ts";
import { Refusal } from "./refusal.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import { parseRequestTarget } from "./request-target.ts";
import type { ThrottledLog } from "./throttled-log.ts";

/** A request as received. */
export interface IncomingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly socket: CredentialSource["socket"];
  /** {@link CredentialSource.judgedBy} */
  readonly judgedBy?: string | undefined;
  readonly upgrade: IncomingUpgrade | undefined;
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

export interface RequestPipelineOptions {
  readonly accessControl: AccessControl;
  readonly directory: NodeDirectory;
  readonly router: Router;
  readonly metrics: RequestMetrics;
  readonly logger: Logger;
  /** For events that unauthorized callers can cause. */
  readonly throttledLog: ThrottledLog;
  readonly tracer: Tracer;
}

/** The parsed URL of a request. */
interface Destination {
  /** Path segments without `/nodes/NAME`. */
  readonly segments: readonly string[];
  readonly path: string;
  readonly query: string;
  /** NAME of `/nodes/NAME`. */
  readonly nodeName: string | undefined;
}

/** How far a request has been processed. */
interface Progress {
  /** `undefined` if the path is malformed. */
  readonly destination: Destination | undefined;
  readonly isAuthorized: boolean;
}

/** First path segments that are followed by a pod's namespace and name. */
const podRoots: ReadonlySet<string | undefined> = new Set(["containerLogs", "exec", "attach", "portForward", "run", "checkpoint"]);

/** Valid node names, by the API server's rules. */
const nodeNamePattern = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** Processes every request, including upgrades: authenticates, authorizes, routes and answers it. */
export class RequestPipeline {
  readonly #options: RequestPipelineOptions;

  constructor(options: RequestPipelineOptions) {
    this.#options = options;
  }

  /**
   * Answers a request; never rejects. The request's duration includes sending.
   *
   * @param onAuthorized - called once the caller is authorized
   */
  async handle(incoming: IncomingRequest, send: (answer: Answer) => Promise<void>, onAuthorized: () => void): Promise<void> {
    let destination: Destination | undefined;
    let problem: unknown;
    try {
      destination = findDestination(incoming.url);
    } catch (error) {
      problem = error;
    }
    using _counted = this.#options.metrics.begin(incoming.method, destination?.segments ?? []);
    let isAuthorized = false;
    const letIn = (): void => {
      isAuthorized = true;
      onAuthorized();
    };
    const answer = destination
      ? await this.#answer(incoming, destination, letIn).catch((error: unknown) =>
          this.#refuse(incoming, { destination, isAuthorized }, error),
        )
      : this.#refuse(incoming, { destination, isAuthorized }, problem);
    try {
      await send(answer);
    } catch (error) {
      this.#options.logger.debug({ path: destination?.path, err: messageOf(error) }, "an answer could not be sent");
    } finally {
      if ("held" in answer) answer.held?.[Symbol.dispose]();
    }
  }

  async #answer(incoming: IncomingRequest, destination: Destination, onAuthorized: () => void): Promise<Answer> {
    const { segments, path, query } = destination;
    const { router, metrics, tracer } = this.#options;
    const user = await this.#authenticate(incoming);
    const authorizedNode = await this.#authorize(user, incoming, destination);
    onAuthorized();

    const { handler, params } = router.match(incoming.method, segments);
    const node = this.#node(destination, authorizedNode);
    if (incoming.upgrade && isWebSocketRequest(incoming.upgrade.request)) metrics.countWebSocket((segments[0] ?? "").toLowerCase());
    const request: KubeletRequest = {
      method: incoming.method,
      path,
      query,
      headers: incoming.headers,
      params,
      user,
      node,
      upgrade: incoming.upgrade,
      signal: incoming.signal,
    };
    const answer = async (): Promise<Answer> => handler(request);
    return podRoots.has(segments[0]) ? tracer.span(`kubelet.${segments[0]}`, spanAttributes(params), answer) : answer();
  }

  async #authenticate(incoming: IncomingRequest): Promise<User> {
    let user: User | undefined;
    try {
      user = await this.#options.accessControl.authenticate(incoming, incoming.signal);
    } catch (error) {
      this.#options.throttledLog.log(
        "warn",
        "authentication",
        { err: messageOf(error) },
        "a request was refused: its caller could not be authenticated",
      );
    }
    if (user) return user;
    throw new Refusal(401, "Unauthorized");
  }

  /** @returns name of the node that the caller may access */
  async #authorize(user: User, { method, signal }: IncomingRequest, destination: Destination): Promise<string> {
    const verb = verbOf(method, destination.segments);
    const subresources = subresourcesOf(destination.segments);
    const nodeName = this.#nodeNameFor(destination);
    const who = `user=${user.name}, verb=${verb}, resource=nodes`;
    let decision;
    try {
      decision = await this.#options.accessControl.authorize(user, { verb, subresources, nodeName, path: destination.path }, signal);
    } catch (error) {
      this.#options.throttledLog.log(
        "warn",
        "authorization",
        { user: user.name, verb, path: shortened(destination.path), err: messageOf(error) },
        "a request could not be authorized",
      );
      throw new Refusal(500, `Authorization error (${who}, subresource=${subresources[0]})`, { cause: error });
    }
    if (decision.allowed) return nodeName;
    const fields = { user: user.name, verb, path: shortened(destination.path), reason: decision.reason };
    this.#options.throttledLog.log("info", "forbidden", fields, "a request was forbidden");
    throw new Refusal(403, `Forbidden (${who}, subresource(s)=[${subresources.join(" ")}])\n`);
  }

  /**
   * Name of the node to authorize for. Requests for a pod are authorized for its node. Requests that concern no node (metrics of the
   * program, an unknown pod) are authorized for the first node.
   */
  #nodeNameFor({ nodeName, segments: [root, namespace, name] }: Destination): string {
    const { directory } = this.#options;
    if (nodeName !== undefined) return nodeName;
    const located = podRoots.has(root) && directory.nodes.length > 1 ? directory.findPod(namespace ?? "", name ?? "") : undefined;
    return (located?.node ?? directory.nodes[0])?.access.nodeName ?? "";
  }

  /**
   * The node that the request addresses; `undefined` if several share the port and neither the path nor a pod determines one. A pod is
   * looked up only on the authorized node, because it may move to another one in the meantime.
   */
  #node({ nodeName, segments }: Destination, authorizedNode: string): ServedNode | undefined {
    const { directory } = this.#options;
    if (nodeName === undefined && directory.nodes.length > 1 && !podRoots.has(segments[0])) return undefined;
    const node = directory.named(authorizedNode);
    if (node) return node;
    throw new Refusal(404, `404: node ${authorizedNode} is not served here`);
  }

  #refuse(incoming: IncomingRequest, { destination, isAuthorized }: Progress, error: unknown): Answer {
    const refusal = refusalOf(error);
    // A scraper repeats requests that the provider does not support, so these are not logged.
    if (refusal.status >= 500 && refusal.status !== 501 && !incoming.signal.aborted) {
      const fields = { path: destination && shortened(destination.path), status: refusal.status, err: messageOf(error) };
      if (isAuthorized) this.#options.logger.warn(fields, "a request failed");
      else this.#options.throttledLog.log("warn", "failed", fields, "a request failed");
    }
    // Closing the connection of a refused caller makes room for others.
    const isStranger = refusal.status === 401 || refusal.status === 403;
    return text(refusal.message, refusal.status, isStranger ? { ...refusal.headers, connection: "close" } : refusal.headers);
  }
}

/** Attributes of OpenTelemetry's semantic conventions. */
function spanAttributes({ namespace = "", pod = "", container = "" }: KubeletRequest["params"]): SpanAttributes {
  return { "k8s.namespace.name": namespace, "k8s.pod.name": pod, ...(container !== "" && { "k8s.container.name": container }) };
}

function findDestination(url: string): Destination {
  const { path, segments, query } = parseRequestTarget(url);
  const [root, nodeName, ...rest] = segments;
  if (root !== "nodes" || nodeName === undefined) return { path, segments, query, nodeName: undefined };
  if (!nodeNamePattern.test(nodeName)) throw new Refusal(400, "400: Bad Request: /nodes is not followed by a node name");
  return { path, segments: rest, query, nodeName };
}
