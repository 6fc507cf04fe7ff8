import { systemClock } from "@virtual-kubelet/clock";
import type { buildConnector } from "undici";
import type { TlsMaterial } from "../credentials/credentials.ts";
import { throughProxy } from "./proxy-tunnel.ts";

const connectTimeoutMs = 10_000;
/** Idle time before TCP keep-alive probes begin. */
const tcpKeepAliveMs = 30_000;

/** How every connection to an API server is opened. */
export function connectOptions(tls: TlsMaterial): buildConnector.BuildOptions {
  return {
    timeout: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelay: tcpKeepAliveMs,
    rejectUnauthorized: !tls.insecureSkipVerify,
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(tls.certificate !== undefined && { cert: tls.certificate }),
    ...(tls.key !== undefined && { key: tls.key }),
    ...(tls.serverName !== undefined && { servername: tls.serverName }),
  };
}

/** Lets a connector work through a proxy. */
export function inTunnel(connect: buildConnector.connector, proxy: URL, tls: TlsMaterial): buildConnector.connector {
  return throughProxy(connect, { proxy, tls, timeoutMs: connectTimeoutMs, keepAliveDelayMs: tcpKeepAliveMs, clock: systemClock });
}
