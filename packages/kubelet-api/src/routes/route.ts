import type { IncomingHttpHeaders } from "node:http";
import type { IncomingUpgrade } from "@virtual-kubelet/streaming";
import type { User } from "../access-control/access-control.ts";
import type { Answer } from "../server/answer.ts";
import type { ServedNode } from "./served-node.ts";

/** An authorized request. */
export interface KubeletRequest {
  readonly method: string;
  /** As received, without the query. */
  readonly path: string;
  /** Text after the question mark, not decoded. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** Path variables, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly user: User;
  /** The node that `/nodes/NAME` names, or the only one of the port. */
  readonly node: ServedNode | undefined;
  /** The connection, if the client asks to upgrade it. */
  readonly upgrade: IncomingUpgrade | undefined;
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** Answers a request. @throws Refusal, or an error whose errdefs code determines the status */
export type Handler = (request: KubeletRequest) => Answer | Promise<Answer>;

/** An entry of the route table. */
export interface Route {
  /** `/` and segments; `{name}` matches one segment, a final `{name...}` any number of them. */
  readonly path: string;
  readonly methods: readonly string[] | "any";
  readonly handler: Handler;
}
