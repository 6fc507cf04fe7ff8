import { Refusal } from "../server/refusal.ts";
import type { KubeletRequest } from "./route.ts";
import type { ServedNode } from "./served-node.ts";

/**
 * The node that a request is about, where no pod tells it.
 *
 * @throws Refusal 404 on a port of several nodes, unless the path names one
 */
export function requireNode({ node, path }: KubeletRequest): ServedNode {
  if (node) return node;
  throw new Refusal(404, `404: several nodes share this port: ask for /nodes/NAME${path}`);
}
