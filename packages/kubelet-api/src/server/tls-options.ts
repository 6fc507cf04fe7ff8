import { constants } from "node:crypto";
import type { SecureContextOptions } from "node:tls";
import type { ServingTls } from "../access-control.ts";

/**
 * What a server's secure context is made of. Without a client CA no client certificate counts: an absent list would
 * stand for all the world's. As with a kubelet, whose Go knows no other way, nobody renegotiates.
 */
export function secureContextOptions({ certificate, key, clientCa }: ServingTls): SecureContextOptions {
  const ca = clientCa === undefined ? [] : clientCa;
  return { cert: certificate, key, ca, minVersion: "TLSv1.2", secureOptions: constants.SSL_OP_NO_RENEGOTIATION };
}
