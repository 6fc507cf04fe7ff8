import type { IncomingUpgrade } from "@virtual-kubelet/streaming";
import type { KubeletRequest } from "../routes/route.ts";
import { Refusal } from "../server/refusal.ts";

/**
 * Returns the upgrade request.
 *
 * @throws Refusal 500 for an ordinary request, 400 for an upgrade to another protocol, worded as a kubelet does
 */
export function requireUpgrade({ upgrade, headers }: KubeletRequest): IncomingUpgrade {
  if (upgrade) return upgrade;
  if (headers.connection?.toLowerCase().includes("upgrade"))
    throw new Refusal(400, "unable to upgrade: missing upgrade headers in request: want Upgrade: SPDY/3.1 or websocket");
  throw new Refusal(500, "Upgrade request required");
}
