import type { IncomingHttpHeaders } from "node:http";
import type { IncomingUpgrade } from "@virtual-kubelet/streaming";
import type { User } from "../access-control/access-control.ts";
import type { Answer } from "../server/answer.ts";
import type { ServedNode } from "./served-node.ts";

/** A request that may be served. */
export interface KubeletRequest {
  readonly method: string;
  /** As it came, without the query. */
  readonly path: string;
  /** What stands behind the question mark, not decoded. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** The path's variables, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly user: User;
  /** The node that `/nodes/NAME` names, or the port's only one. */
  readonly node: ServedNode | undefined;
  /** The connection, if the client wants to speak something else than HTTP on it. */
  readonly upgrade: IncomingUpgrade | undefined;
  /** Aborts when the client is gone, or the server stops. */
  readonly signal: AbortSignal;
}

/** Answers a request. @throws Refusal, or an error whose errdefs code decides the status */
export type Handler = (request: KubeletRequest) => Answer | Promise<Answer>;

/** One line of the route table. */
export interface Route {
  /** `/` and parts; `{name}` stands for any one part, `{name...}` at the end for any number of them. */
  readonly path: string;
  readonly methods: readonly string[] | "any";
  readonly handler: Handler;
}
