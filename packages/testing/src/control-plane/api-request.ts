import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { ClientCredentials } from "./kubeconfig.ts";

/** An API server and the client's credentials. */
export interface ApiServerTarget {
  /** Such as `https://127.0.0.1:6443`. */
  readonly server: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly caCertificate?: string | undefined;
  readonly credentials?: ClientCredentials | undefined;
}

/** A complete response. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
}

/** Sends one request on its own connection, for set-up and checks; the real client is kube-client. @throws UnavailableError */
export function apiRequest(
  target: ApiServerTarget,
  method: string,
  path: string,
  options: { readonly body?: unknown; readonly signal?: AbortSignal | undefined } = {},
): Promise<ApiAnswer> {
  const { credentials } = target;
  const url = new URL(path, target.server);
  const bearer = bearerOf(credentials);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void =>
      reject(options.signal?.aborted ? options.signal.reason : new UnavailableError(`${method} ${url.href}`, { cause }));
    const request = send(
      url,
      {
        method,
        agent: false,
        ca: target.caCertificate,
        ...(credentials !== undefined && "certificate" in credentials ? { cert: credentials.certificate, key: credentials.key } : {}),
        headers: {
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
          ...(options.body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
      (response) => void readAll(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), fail),
    );
    request.once("error", fail);
    request.end(options.body === undefined ? undefined : JSON.stringify(options.body));
  });
}

/** Bearer token of the credentials, if they have one; a token file is read again for each request. */
export function bearerOf(credentials: ClientCredentials | undefined): string | undefined {
  if (credentials === undefined || "certificate" in credentials) return undefined;
  return "token" in credentials ? credentials.token : readFileSync(credentials.tokenFile, "utf8").trim();
}

async function readAll(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return text;
}
