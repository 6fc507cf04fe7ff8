import type { ClientCa } from "../authentication/client-ca.ts";
import type { KeyPairSource } from "./key-pair.ts";

/** Certificates and key of a TLS server, in PEM. */
export interface ServingTls {
  /** The serving certificate, with its chain if there is one. */
  readonly certificate: string;
  readonly key: string;
  /** CA bundle that verifies client certificates. Without it no client certificate is accepted. */
  readonly clientCa?: string | undefined;
}

/** The server's certificate and client CA, which can be replaced while it runs. */
export interface ServingCertificate {
  /** Values for new connections. */
  current(): ServingTls;
  /**
   * Calls back when {@link current} has changed. Existing connections are not affected.
   *
   * @returns subscription; disposing it ends the calls
   */
  onChange(listener: () => void): Disposable;
}

/** Combines a server's certificate with the CA of its clients. */
export function createServingCertificate(pair: KeyPairSource, clientCa: ClientCa): ServingCertificate {
  return {
    current: () => ({ ...pair.current(), clientCa: clientCa.current() }),
    onChange(listener) {
      const subscriptions = [pair.onChange(listener), clientCa.onChange(listener)];
      return { [Symbol.dispose]: () => subscriptions.forEach((each) => each[Symbol.dispose]()) };
    },
  };
}
