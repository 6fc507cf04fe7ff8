import { UnauthorizedError } from "@virtual-kubelet/errdefs";
import type { Credentials } from "../config/credentials.ts";
import { toApiError } from "./api-error.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import type { HttpClient } from "./http-client.ts";

/** A token and what came with it. The token is a secret. */
export interface Token {
  readonly value: string;
  /** Milliseconds it lives, from when it was issued, by Keystone's own clock; `undefined` if it does not say. */
  readonly lifetimeMs: number | undefined;
  readonly projectId: string;
  readonly catalogue: readonly CatalogueEntry[];
}

interface TokenBody {
  readonly token?: {
    readonly expires_at?: string;
    readonly issued_at?: string;
    readonly project?: { readonly id?: string };
    readonly catalog?: readonly CatalogueEntry[];
  };
}

/** Signs in. @throws UnauthorizedError saying how it was tried; UnavailableError */
export async function requestToken(http: HttpClient, { authUrl, auth, method }: Credentials, signal: AbortSignal): Promise<Token> {
  const answer = await http.send({ method: "POST", url: `${authUrl}/auth/tokens`, body: { auth }, signal });
  const what = `sign in at ${authUrl} by ${method}`;
  const value = answer.headers["x-subject-token"];
  if (answer.status >= 400) throw toApiError(what, answer);
  if (value === undefined || value === "")
    throw new UnauthorizedError(`${what}: the answer (${answer.status}) holds no token; is this Keystone v3?`);
  const { token = {} } = (answer.body ?? {}) as TokenBody;
  // A moved token keeps its first expiry, so what is left counts from now, which only the Date header tells.
  const issuedMs = Date.parse(answer.headers["date"] ?? "") || Date.parse(token.issued_at ?? "");
  const lifetimeMs = Date.parse(token.expires_at ?? "") - issuedMs;
  return {
    value,
    lifetimeMs: Number.isNaN(lifetimeMs) ? undefined : lifetimeMs,
    projectId: token.project?.id ?? "",
    catalogue: token.catalog ?? [],
  };
}
