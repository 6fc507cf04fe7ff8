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

/** A request as it arrives. */
export interface IncomingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Of the connection. */
  readonly socket: CredentialSource["socket"];
  /** {@link CredentialSource.judgedBy} */
  readonly judgedBy?: string | undefined;
  readonly upgrade: IncomingUpgrade | undefined;
  /** Aborts when the client is gone, or the server stops. */
  readonly signal: AbortSignal;
}

/** What {@link RequestPipeline} stands on. */
export interface RequestPipelineOptions {
  readonly accessControl: AccessControl;
  readonly directory: NodeDirectory;
  readonly router: Router;
  readonly metrics: RequestMetrics;
  readonly logger: Logger;
  /** For what callers who are not let in can cause. */
  readonly throttledLog: ThrottledLog;
  readonly tracer: Tracer;
}

/** Where a request goes, once the path is read. */
interface Destination {
  /** Without `/nodes/NAME`. */
  readonly segments: readonly string[];
  readonly path: string;
  readonly query: string;
  /** What `/nodes/NAME` names. */
  readonly nodeName: string | undefined;
}

/** How far a request has come. */
interface Progress {
  /** `undefined` if its path cannot be read. */
  readonly destination: Destination | undefined;
  /** Whether the caller is one who may incoming. */
  readonly isAuthorized: boolean;
}

/** First parts of paths whose second and third are a pod's namespace and name. */
const podRoots: ReadonlySet<string | undefined> = new Set(["containerLogs", "exec", "attach", "portForward", "run", "checkpoint"]);

/** Node names, as the API server takes them. */
const nodeNamePattern = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** The way of every request, upgrades included: who calls, whether they may, what answers. */
export class RequestPipeline {
  readonly #options: RequestPipelineOptions;

  constructor(options: RequestPipelineOptions) {
    this.#options = options;
  }

  /**
   * Answers a request; never rejects. Sending is part of the request's duration.
   *
   * @param onAuthorized - told that the caller is one who may call
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
        "a request is refused: it could not be found out who calls",
      );
    }
    if (user) return user;
    throw new Refusal(401, "Unauthorized");
  }

  /** @returns the name of the node that the caller may reach */
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
    this.#options.throttledLog.log("info", "forbidden", fields, "a request is forbidden");
    throw new Refusal(403, `Forbidden (${who}, subresource(s)=[${subresources.join(" ")}])\n`);
  }

  /**
   * The node that a request is about. A pod's is found by the pod; what is nobody's (metrics of the program, a pod that
   * is not there) counts as the first node's.
   */
  #nodeNameFor({ nodeName, segments: [root, namespace, name] }: Destination): string {
    const { directory } = this.#options;
    if (nodeName !== undefined) return nodeName;
    const located = podRoots.has(root) && directory.nodes.length > 1 ? directory.findPod(namespace ?? "", name ?? "") : undefined;
    return (located?.node ?? directory.nodes[0])?.access.nodeName ?? "";
  }

  /**
   * The node whose request it is; `undefined` where several share the port, and neither prefix nor pod tells. A pod is
   * looked for on the node that was asked about, and no other: it may move to another one meanwhile.
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
    // What the provider cannot do is asked for again and again: by who scrapes metrics, say.
    if (refusal.status >= 500 && refusal.status !== 501 && !incoming.signal.aborted) {
      const fields = { path: destination && shortened(destination.path), status: refusal.status, err: messageOf(error) };
      if (isAuthorized) this.#options.logger.warn(fields, "a request failed");
      else this.#options.throttledLog.log("warn", "failed", fields, "a request failed");
    }
    // Who was refused has no use for the connection, and others may need it.
    const isStranger = refusal.status === 401 || refusal.status === 403;
    return text(refusal.message, refusal.status, isStranger ? { ...refusal.headers, connection: "close" } : refusal.headers);
  }
}

/** A pod's request, in OpenTelemetry's words. */
function spanAttributes({ namespace = "", pod = "", container = "" }: KubeletRequest["params"]): SpanAttributes {
  return { "k8s.namespace.name": namespace, "k8s.pod.name": pod, ...(container !== "" && { "k8s.container.name": container }) };
}

function findDestination(url: string): Destination {
  const { path, segments, query } = parseRequestTarget(url);
  const [root, nodeName, ...rest] = segments;
  if (root !== "nodes" || nodeName === undefined) return { path, segments, query, nodeName: undefined };
  if (!nodeNamePattern.test(nodeName)) throw new Refusal(400, "400: Bad Request: the path has no node's name behind /nodes");
  return { path, segments: rest, query, nodeName };
}
