import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

/**
 * Why a request to a server on loopback does not come from its own page; `undefined` if it may be answered. A name in `Host` shows that
 * another site has its name resolved to this machine (DNS rebinding), so that its scripts may read the answers; `Origin` and `Sec-Fetch-Site`
 * show another site's script.
 */
export function foreignRequest(headers: IncomingHttpHeaders): string | undefined {
  const { host = "", origin } = headers;
  const site = headers["sec-fetch-site"] ?? "none";
  if (!isLoopbackHost(hostOf(host))) return `Host: ${JSON.stringify(host)}: expected localhost or a loopback address`;
  if (origin !== undefined && origin !== `http://${host}`) return `Origin: ${JSON.stringify(origin)}: expected http://${host}`;
  if (site !== "same-origin" && site !== "none")
    return `the request comes from another site (Sec-Fetch-Site: ${JSON.stringify(site)}); type the address by hand`;
  return undefined;
}

/** Whether a name or an address is this machine's loopback: `localhost`, `127.0.0.0/8` or `::1`. */
export function isLoopbackHost(host: string): boolean {
  if (host.toLowerCase() === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}

/** The host without its port and brackets. */
function hostOf(host: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, "");
}
