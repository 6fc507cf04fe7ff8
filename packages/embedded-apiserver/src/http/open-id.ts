import { tokenIssuer, type ServiceAccountTokens } from "../authentication/service-account-token.ts";
import type { ApiResponse } from "./api-request.ts";
import { json } from "./respond.ts";

/** How long clients may cache the documents. */
const maxAgeSeconds = 3600;

/** What the documents say. */
export interface OpenIdContext {
  readonly tokens: Pick<ServiceAccountTokens, "publicJwk">;
  /** Host and port for clients; empty if the server does not listen. */
  readonly serverAddress: () => string;
}

/**
 * Documents with which others verify tokens of service accounts; `undefined` for other paths.
 *
 * Source: Kubernetes v1.36.3 pkg/routes/openidmetadata.go and pkg/serviceaccount/openidmetadata.go.
 */
export function openIdDocument({ tokens, serverAddress }: OpenIdContext, path: string): ApiResponse | undefined {
  switch (path) {
    case "/.well-known/openid-configuration":
      return cached(
        json(200, {
          issuer: tokenIssuer,
          jwks_uri: `https://${serverAddress()}/openid/v1/jwks`,
          response_types_supported: ["id_token"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["ES256"],
        }),
        "application/json",
      );
    case "/openid/v1/jwks":
      return cached(json(200, { keys: [tokens.publicJwk] }), "application/jwk-set+json");
    default:
      return undefined;
  }
}

function cached(response: ApiResponse, contentType: string): ApiResponse {
  return {
    ...response,
    headers: { ...response.headers, "content-type": contentType, "cache-control": `public, max-age=${String(maxAgeSeconds)}` },
  };
}
