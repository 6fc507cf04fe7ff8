import type { ServingCertificate } from "./access-control.ts";
import type { ClientCa } from "./authentication/client-ca.ts";
import type { KeyPairSource } from "./certificates/key-pair.ts";

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
