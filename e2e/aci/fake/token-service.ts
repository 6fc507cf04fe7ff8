import type { Clock, Random } from "@virtual-kubelet/clock";
import type { ArmAnswer, ArmRequest } from "./arm-request.ts";

/** Credentials that the token service accepts. */
export interface FakeCredentials {
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Accepted assertions of a federated identity, such as service account tokens. */
  readonly assertions: ReadonlySet<string>;
}

const scope = "https://management.azure.com/.default";

/** Path of tokens at the instance metadata service of a virtual machine. */
const metadataPath = "/metadata/identity/oauth2/token";

/**
 * Microsoft's token service and the instance metadata service. Tokens end on the injected clock. Answers and errors follow
 * https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow; the AADSTS codes are those of its list.
 */
export class TokenService {
  /** May be replaced, as when somebody rotates a secret. */
  credentials: FakeCredentials;
  /** Lifetime of new tokens in seconds. */
  lifetimeSeconds = 3600;
  /** Grants in order: what was used to get a token. */
  readonly grants: ("secret" | "assertion" | "managed-identity")[] = [];
  readonly #clock: Clock;
  readonly #random: Random;
  /** End of each token in milliseconds. */
  readonly #tokens = new Map<string, number>();

  constructor(credentials: FakeCredentials, clock: Clock, random: Random) {
    this.credentials = credentials;
    this.#clock = clock;
    this.#random = random;
  }

  /** Answers a request of the token service. @returns `undefined` if the path is not one of it */
  answer({ method, path, query, headers, body }: ArmRequest, base: string): ArmAnswer | undefined {
    if (path === metadataPath) return this.#metadata(query, headers);
    if (path.toLowerCase() === "/common/discovery/instance")
      return { status: 200, body: { tenant_discovery_endpoint: `${base}/common/v2.0/.well-known/openid-configuration`, metadata: [] } };
    const [, tenant = "", rest = ""] = /^\/([^/]+)\/(.+)$/.exec(path) ?? [];
    if (rest === "v2.0/.well-known/openid-configuration") return { status: 200, body: openIdConfiguration(base, tenant) };
    return method === "POST" && rest === "oauth2/v2.0/token" ? this.#grant(tenant, body as Readonly<Record<string, string>>) : undefined;
  }

  /** A token for tests that send requests themselves. */
  issue(): string {
    const token = `fake-token-${this.#random.uuid()}`;
    this.#tokens.set(token, this.#clock.now() + this.lifetimeSeconds * 1000);
    return token;
  }

  /** Ends all tokens. */
  revokeAll(): void {
    this.#tokens.clear();
  }

  /** @param authorization - value of the header */
  stateOf(authorization: string | undefined): "valid" | "expired" | "invalid" {
    const endMs = this.#tokens.get((authorization ?? "").replace(/^Bearer /, ""));
    if (endMs === undefined) return "invalid";
    return this.#clock.now() < endMs ? "valid" : "expired";
  }

  #grant(tenant: string, form: Readonly<Record<string, string>>): ArmAnswer {
    const { tenantId, clientId, clientSecret, assertions } = this.credentials;
    if (tenant !== tenantId) return refusal(400, "invalid_request", 90002, `Tenant '${tenant}' not found.`);
    if (form["client_id"] !== clientId)
      return refusal(
        400,
        "unauthorized_client",
        700016,
        `Application with identifier '${form["client_id"] ?? ""}' was not found in the directory.`,
      );
    if (form["grant_type"] !== "client_credentials")
      return refusal(400, "unsupported_grant_type", 70003, "The grant type is not supported.");
    if (!(form["scope"] ?? "").split(" ").includes(scope))
      return refusal(400, "invalid_scope", 70011, "The provided value for 'scope' is not valid.");
    const isFederated = form["client_assertion_type"] === "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    if (isFederated && !assertions.has(form["client_assertion"] ?? ""))
      return refusal(401, "invalid_client", 700024, "Client assertion is not within its valid time range.");
    if (!isFederated && form["client_secret"] !== clientSecret)
      return refusal(401, "invalid_client", 7000215, "Invalid client secret provided.");
    this.grants.push(isFederated ? "assertion" : "secret");
    const { lifetimeSeconds } = this;
    return {
      status: 200,
      body: { token_type: "Bearer", expires_in: lifetimeSeconds, ext_expires_in: lifetimeSeconds, access_token: this.issue() },
    };
  }

  #metadata(query: URLSearchParams, headers: ArmRequest["headers"]): ArmAnswer {
    if (headers["metadata"] !== "true")
      return { status: 400, body: { error: "invalid_request", error_description: "Required metadata header not specified" } };
    const client = query.get("client_id");
    if (client !== null && client !== this.credentials.clientId)
      return { status: 400, body: { error: "invalid_request", error_description: "Identity not found" } };
    this.grants.push("managed-identity");
    const expiresOn = Math.floor(this.#clock.now() / 1000) + this.lifetimeSeconds;
    return {
      status: 200,
      // Unlike the token service, the metadata service writes numbers as strings.
      body: {
        access_token: this.issue(),
        client_id: this.credentials.clientId,
        expires_in: String(this.lifetimeSeconds),
        expires_on: String(expiresOn),
        resource: query.get("resource"),
        token_type: "Bearer",
      },
    };
  }
}

function refusal(status: number, error: string, code: number, text: string): ArmAnswer {
  return { status, body: { error, error_description: `AADSTS${code}: ${text}`, error_codes: [code] } };
}

function openIdConfiguration(base: string, tenant: string): object {
  return {
    token_endpoint: `${base}/${tenant}/oauth2/v2.0/token`,
    authorization_endpoint: `${base}/${tenant}/oauth2/v2.0/authorize`,
    device_authorization_endpoint: `${base}/${tenant}/oauth2/v2.0/devicecode`,
    end_session_endpoint: `${base}/${tenant}/oauth2/v2.0/logout`,
    jwks_uri: `${base}/${tenant}/discovery/v2.0/keys`,
    issuer: `${base}/${tenant}/v2.0`,
  };
}
