import type { ClientCa } from "../authentication/client-ca.ts";
import type { KeyPairSource } from "./key-pair.ts";

/** What the server's side of TLS stands on, in PEM. */
export interface ServingTls {
  /** The serving certificate, and its chain if it has one. */
  readonly certificate: string;
  readonly key: string;
  /** Certificates that client certificates must come from; without any, none counts. */
  readonly clientCa?: string | undefined;
}

/** The server's certificate and client CA, which may be replaced while it runs. */
export interface ServingCertificate {
  /** What new connections are to use from now on. */
  current(): ServingTls;
  /** Calls back when {@link current} has changed; connections that are open go on. @returns what ends that */
  onChange(listener: () => void): Disposable;
}

/** What a server's side of TLS stands on: its own certificate, and the CA of those who call. */
export function createServingCertificate(pair: KeyPairSource, clientCa: ClientCa): ServingCertificate {
  return {
    current: () => ({ ...pair.current(), clientCa: clientCa.current() }),
    onChange(listener) {
      const subscriptions = [pair.onChange(listener), clientCa.onChange(listener)];
      return { [Symbol.dispose]: () => subscriptions.forEach((each) => each[Symbol.dispose]()) };
    },
  };
}
