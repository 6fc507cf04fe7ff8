import { problemOf } from "@virtual-kubelet/core";
import { UnauthorizedError, UnavailableError } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import type { Credentials } from "../config/credentials.ts";
import { toApiError } from "./api-error.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import type { HttpClient } from "./http-client.ts";

/** A token with its catalog and project. The token is a secret. */
export interface Token {
  readonly value: string;
  /** Lifetime in milliseconds, by Keystone's clock; `undefined` if Keystone does not report it. */
  readonly lifetimeMs: number | undefined;
  readonly projectId: string;
  readonly catalogue: readonly CatalogueEntry[];
}

const tokenSchema = z.object({
  token: z.object({
    expires_at: z.string().nullish(),
    issued_at: z.string().nullish(),
    project: z.object({ id: z.string() }).nullish(),
    catalog: z.array(z.unknown()).nullish(),
  }),
});

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);
const entrySchema: z.ZodType<CatalogueEntry> = z.object({
  type: text,
  endpoints: z.array(z.object({ interface: text, region: text, region_id: text, url: text })),
});

/** Requests a token. @throws UnauthorizedError with the kind of credentials; UnavailableError */
export async function requestToken(http: HttpClient, { authUrl, auth, method }: Credentials, signal: AbortSignal): Promise<Token> {
  const answer = await http.send({ method: "POST", url: `${authUrl}/auth/tokens`, body: { auth }, signal });
  const what = `sign in at ${authUrl} by ${method}`;
  const value = answer.headers["x-subject-token"];
  // The 404 says nothing about the objects of a service.
  if (answer.status === 404) throw new UnavailableError(`${what}: the answer is 404; is this Keystone v3?`);
  if (answer.status >= 400) throw toApiError(what, answer);
  if (value === undefined || value === "")
    throw new UnauthorizedError(`${what}: the answer (${answer.status}) contains no token; is this Keystone v3?`);
  const { data, error } = tokenSchema.safeParse(answer.body);
  if (!data) throw new UnavailableError(`${what}: the server does not answer as Keystone v3 does: ${problemOf(error)}`);
  const { token } = data;
  // A token that was requested with another token keeps its expiry, so the lifetime starts now; Keystone's present time is in the Date header.
  const issuedMs = Date.parse(answer.headers["date"] ?? "") || Date.parse(token.issued_at ?? "");
  const lifetimeMs = Date.parse(token.expires_at ?? "") - issuedMs;
  return {
    value,
    lifetimeMs: Number.isNaN(lifetimeMs) ? undefined : lifetimeMs,
    projectId: token.project?.id ?? "",
    // An unreadable entry belongs to a service that is not used, or the service is reported as missing later.
    catalogue: (token.catalog ?? []).flatMap((entry) => entrySchema.safeParse(entry).data ?? []),
  };
}
