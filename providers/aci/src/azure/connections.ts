import type { AdditionalPolicyConfig } from "@azure-rest/core-client";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";

/**
 * Connections of a client of Azure, which stay open between requests. Azure's libraries share such connections in the whole process and never
 * close them. Requests through a proxy keep the connections of Azure's libraries.
 */
export class Connections implements Disposable {
  /** Makes a pipeline of Azure's libraries use these connections. */
  readonly policy: AdditionalPolicyConfig;
  readonly #http = new HttpAgent({ keepAlive: true });
  readonly #https: HttpsAgent;
  #isClosed = false;

  /** @param ca - certificate authorities, PEM; default: those that Node.js trusts */
  constructor(ca?: readonly string[]) {
    this.#https = new HttpsAgent({ keepAlive: true, ...(ca && { ca: [...ca] }) });
    this.policy = {
      // After the policy that chooses a proxy.
      position: "perRetry",
      policy: {
        name: "virtualKubeletConnections",
        sendRequest: async (request, next) => {
          if (this.#isClosed) throw new UnavailableError("the connections to Azure are closed");
          // A proxy's.
          if (request.agent) return next(request);
          request.agent = request.url.startsWith("https:") ? this.#https : this.#http;
          try {
            return await next(request);
          } finally {
            // Errors show their request, which must not show what was sent on other connections.
            delete request.agent;
          }
        },
      },
    };
  }

  /** Closes the connections; requests under way and later ones fail. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#http.destroy();
    this.#https.destroy();
  }
}
