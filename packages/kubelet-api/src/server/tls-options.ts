import type { SecureContextOptions } from "node:tls";
import type { ServingTls } from "../access-control.ts";

/**
 * What a server's secure context is made of. Without a client CA no client certificate counts: an absent list would
 * stand for all the world's.
 */
export function secureContextOptions({ certificate, key, clientCa }: ServingTls): SecureContextOptions {
  return { cert: certificate, key, ca: clientCa === undefined ? [] : clientCa, minVersion: "TLSv1.2" };
}
