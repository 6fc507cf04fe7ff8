import type { ClientRequest } from "node:http";
import { GoError } from "./go-error.ts";

/**
 * Rejects a request whose answer switches the protocol although nothing asked for it. Node.js tells of no response and no error then.
 *
 * Source: Go's net/http/httputil/reverseproxy.go, `handleUpgradeResponse`.
 */
export function refuseSwitch(request: ClientRequest, reject: (error: GoError) => void): void {
  request.once("upgrade", ({ headers }, socket) => {
    socket.destroy();
    reject(new GoError(`backend tried to switch protocol ${JSON.stringify(headers.upgrade ?? "")} when "" was requested`));
  });
}
