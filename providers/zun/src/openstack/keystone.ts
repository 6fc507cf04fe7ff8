import { problemOf } from "@virtual-kubelet/core";
import { UnauthorizedError, UnavailableError } from "@virtual-kubelet/errdefs";
import { z } from "zod";
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

/** Signs in. @throws UnauthorizedError saying how it was tried; UnavailableError */
export async function requestToken(http: HttpClient, { authUrl, auth, method }: Credentials, signal: AbortSignal): Promise<Token> {
  const answer = await http.send({ method: "POST", url: `${authUrl}/auth/tokens`, body: { auth }, signal });
  const what = `sign in at ${authUrl} by ${method}`;
  const value = answer.headers["x-subject-token"];
  // No word on anything that a service holds.
  if (answer.status === 404) throw new UnavailableError(`${what}: the answer is 404; is this Keystone v3?`);
  if (answer.status >= 400) throw toApiError(what, answer);
  if (value === undefined || value === "")
    throw new UnauthorizedError(`${what}: the answer (${answer.status}) holds no token; is this Keystone v3?`);
  const { data, error } = tokenSchema.safeParse(answer.body);
  if (!data) throw new UnavailableError(`${what}: what answered does not answer as Keystone v3 does: ${problemOf(error)}`);
  const { token } = data;
  // A moved token keeps its first expiry, so what is left counts from now, which only the Date header tells.
  const issuedMs = Date.parse(answer.headers["date"] ?? "") || Date.parse(token.issued_at ?? "");
  const lifetimeMs = Date.parse(token.expires_at ?? "") - issuedMs;
  return {
    value,
    lifetimeMs: Number.isNaN(lifetimeMs) ? undefined : lifetimeMs,
    projectId: token.project?.id ?? "",
    // An entry that cannot be read is another service's, or missing where it is looked for.
    catalogue: (token.catalog ?? []).flatMap((entry) => entrySchema.safeParse(entry).data ?? []),
  };
}
