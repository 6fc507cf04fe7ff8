import { Refusal } from "../server/refusal.ts";
import type { KubeletRequest } from "./route.ts";
import type { ServedNode } from "./served-node.ts";

/** The node that the request addresses. @throws Refusal 404 if several nodes share the port and the path names none */
export function requireNode({ node, path }: KubeletRequest): ServedNode {
  if (node) return node;
  throw new Refusal(404, `404: several nodes share this port: ask for /nodes/NAME${path}`);
}
