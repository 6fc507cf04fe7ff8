import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into reviews of every kind
type Json = any;

/** An HTTPS server of a test, which answers reviews. */
export interface WebhookServer extends AsyncDisposable {
  readonly port: number;
  /** `clientConfig` of a webhook that is answered by `answers[path]`. */
  clientConfig(path: string): { readonly url: string; readonly caBundle: string };
  /** Base64 of its authority's certificate. */
  readonly caBundle: string;
  /** Base64 of its own certificate. */
  readonly certificate: string;
  /** Received bodies by path, in order. */
  readonly received: Readonly<Record<string, Json[]>>;
}

/**
 * Answer to a review; a number is an HTTP status without a body, a URL a redirection that keeps the body, a Response is sent as it is and breaks
 * off if its `content-length` is larger than its body, and `Response.error()` breaks the connection.
 */
export type ReviewHandler = (review: Json) => Json;

/** Starts a server for 127.0.0.1, localhost and the service `hook` in the namespace `default`. */
export async function startWebhookServer(answers: Readonly<Record<string, ReviewHandler>>): Promise<WebhookServer> {
  const day = 86_400_000;
  const validity = { notBeforeMs: Date.now() - day, notAfterMs: Date.now() + day };
  const authority = createCertificateAuthority(`webhook-ca-${randomUUID()}`, validity);
  const { certificate, key } = authority.issue({
    commonName: "hook",
    names: ["127.0.0.1", "localhost", "hook.default.svc"],
    usages: ["server auth"],
    validity,
  });
  const received: Record<string, Json[]> = {};
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    void json(request)
      .then(async (review) => {
        (received[path] ??= []).push(review);
        return await answers[path]?.(review);
      })
      .then((answer: Json) => {
        if (answer instanceof URL) return response.writeHead(307, { location: answer.pathname }).end();
        if (answer instanceof Response && answer.type === "error") return request.socket.destroy();
        if (answer instanceof Response)
          return void answer.arrayBuffer().then((bytes) => {
            const body = Buffer.from(bytes);
            response.writeHead(answer.status, Object.fromEntries(answer.headers));
            const isBroken = Number(answer.headers.get("content-length") ?? 0) > body.length;
            if (isBroken) response.write(body, () => request.socket.destroy());
            else response.end(body);
          });
        if (typeof answer === "number") return response.writeHead(answer).end();
        return response
          .writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" })
          .end(JSON.stringify(answer ?? {}));
      })
      .catch((error: unknown) => {
        // A caller that leaves before its request is complete gets no answer.
        if (!request.readableAborted) throw error;
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(authority.certificate).toString("base64");
  return {
    port,
    caBundle,
    certificate: Buffer.from(certificate).toString("base64"),
    received,
    clientConfig: (path) => ({ url: `https://127.0.0.1:${port}${path}`, caBundle }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Answer that allows a request. @param more - other fields of the response */
export const allow =
  (more: object = {}): ReviewHandler =>
  ({ apiVersion, request }: Json) => ({ apiVersion, kind: "AdmissionReview", response: { uid: request.uid, allowed: true, ...more } });

/** Answer that denies a request. @param status - `response.status` */
export const deny =
  (status?: object): ReviewHandler =>
  ({ apiVersion, request }: Json) => ({
    apiVersion,
    kind: "AdmissionReview",
    response: { uid: request.uid, allowed: false, ...(status === undefined ? {} : { status }) },
  });

/** Answer that changes the object. */
export const patch = (operations: readonly object[]): ReviewHandler =>
  allow({ patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") });

/** A configuration with one webhook for the creation and change of config maps. */
export function webhookConfiguration(
  kind: "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
  name: string,
  webhook: object,
): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        rules: [{ operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        ...webhook,
      },
    ],
  };
}
