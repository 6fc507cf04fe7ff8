import type { AccessToken, TokenCredential } from "@azure/identity";
import type { Clock } from "@virtual-kubelet/clock";
import { SingleFlight } from "@virtual-kubelet/async";
import {
  DeadlineExceededError,
  InvalidInputError,
  isInvalidInput,
  isUnauthorized,
  messageOf,
  UnauthorizedError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { readFile } from "node:fs/promises";
import { readSettingFile } from "../config/setting-file.ts";
import type { AciSettings } from "../config/settings.ts";
import { Connections } from "./connections.ts";

/** Time before its expiry from which a token is not used any more. */
const marginMs = 120_000;
/** Maximum time of a sign-in. */
const signInTimeoutMs = 60_000;

/** Time within which the endpoint of managed identities has to answer. Outside Azure nobody does, and the library would try on for a minute. */
const identityTimeoutMs = 8_000;

/** Kind of a credential. */
export type CredentialKind = Exclude<AciSettings["config"]["credential"], "auto">;

/** Source of access tokens for Azure Resource Manager. */
export interface TokenSource {
  /** @throws UnauthorizedError, UnavailableError; `signal.reason` */
  token(signal: AbortSignal): Promise<string>;
  /** Called when Azure has refused a token: the next one is a new one, of credentials that are read again. */
  refused(token: string): void;
}

/**
 * Returns the kind of credential that a configuration asks for.
 *
 * @throws InvalidInputError if a setting that it needs is missing, or a file that it needs cannot be read
 */
export function credentialKind({ config, tenantId, clientId, clientSecret }: AciSettings): CredentialKind {
  const hasSecret = clientSecret !== undefined || config.clientSecretFile !== undefined;
  const kind =
    config.credential !== "auto"
      ? config.credential
      : hasSecret
        ? "clientSecret"
        : config.clientCertificateFile !== undefined
          ? "clientCertificate"
          : config.federatedTokenFile !== undefined
            ? "workloadIdentity"
            : "managedIdentity";
  const needed: Readonly<Record<CredentialKind, Readonly<Record<string, unknown>>>> = {
    clientSecret: { tenantId, clientId, clientSecret: hasSecret || undefined },
    clientCertificate: { tenantId, clientId, clientCertificateFile: config.clientCertificateFile },
    workloadIdentity: { tenantId, clientId, federatedTokenFile: config.federatedTokenFile },
    managedIdentity: {},
    azureCli: {},
    token: { tokenFile: config.tokenFile },
  };
  const missing = Object.entries(needed[kind]).flatMap(([name, value]) => (value === undefined ? [withVariable(name)] : []));
  if (missing.length > 0) throw new InvalidInputError(`credential ${kind}: set ${missing.join(", ")} in the provider's configuration`);
  return kind;
}

const variables: Readonly<Record<string, string>> = {
  tenantId: "AZURE_TENANT_ID",
  clientId: "AZURE_CLIENT_ID",
  clientSecret: "AZURE_CLIENT_SECRET",
  clientCertificateFile: "AZURE_CLIENT_CERTIFICATE_PATH",
  federatedTokenFile: "AZURE_FEDERATED_TOKEN_FILE",
};

function withVariable(setting: string): string {
  return variables[setting] === undefined ? setting : `${setting} (or ${variables[setting]})`;
}

/** Checks the files that a sign-in of this kind reads. @throws InvalidInputError */
function checkFiles(kind: CredentialKind, { config }: AciSettings): void {
  const { clientSecretFile, clientCertificateFile, federatedTokenFile } = config;
  if (kind === "clientSecret" && clientSecretFile !== undefined) readSettingFile("clientSecretFile", clientSecretFile);
  if (kind === "clientCertificate" && clientCertificateFile !== undefined) readSettingFile("clientCertificateFile", clientCertificateFile);
  if (kind === "workloadIdentity" && federatedTokenFile !== undefined) readSettingFile("federatedTokenFile", federatedTokenFile);
}

type CreateCredential = (kind: CredentialKind, settings: AciSettings, connections: Connections) => Promise<TokenCredential>;

/** Context of a token source. */
export interface TokenSourceOptions {
  readonly settings: AciSettings;
  readonly clock: Clock;
  /** Default: a credential of `@azure/identity`, which is loaded when the first token is needed. */
  readonly createCredential?: CreateCredential | undefined;
}

/**
 * Creates the source of tokens. Disposing it closes its connections.
 *
 * @throws InvalidInputError as {@link credentialKind}, and for a file of the credential that cannot be read
 */
export function createTokenSource(options: TokenSourceOptions): TokenSource & Disposable {
  const kind = credentialKind(options.settings);
  checkFiles(kind, options.settings);
  const { tokenFile } = options.settings.config;
  return kind === "token" && tokenFile !== undefined ? new TokenFile(tokenFile) : new IdentityTokens(kind, options);
}

/** A token that somebody else renews. */
class TokenFile implements TokenSource, Disposable {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async token(): Promise<string> {
    try {
      return (await readFile(this.#path, "utf8")).trim();
    } catch (error) {
      throw new UnauthorizedError(`read the token in tokenFile "${this.#path}": ${messageOf(error)}`, { cause: error });
    }
  }

  refused(): void {}

  [Symbol.dispose](): void {}
}

class IdentityTokens implements TokenSource, Disposable {
  readonly #kind: CredentialKind;
  readonly #options: TokenSourceOptions;
  readonly #flight = new SingleFlight<string>();
  readonly #connections = new Connections();
  #credential: TokenCredential | undefined;
  #current: { readonly token: string; readonly expiresAtMs: number } | undefined;

  constructor(kind: CredentialKind, options: TokenSourceOptions) {
    this.#kind = kind;
    this.#options = options;
  }

  async token(signal: AbortSignal): Promise<string> {
    const current = this.#current;
    if (current && this.#options.clock.now() < current.expiresAtMs - marginMs) return current.token;
    return this.#flight.run("token", () => this.#signIn(), signal);
  }

  refused(token: string): void {
    if (this.#current?.token !== token) return;
    this.#current = undefined;
    this.#credential = undefined;
  }

  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]();
  }

  async #signIn(): Promise<string> {
    const { settings, createCredential = identityCredential } = this.#options;
    try {
      this.#credential ??= await createCredential(this.#kind, settings, this.#connections);
      const answer = await this.#ask(this.#credential);
      if (!answer) throw new Error("no token was returned");
      this.#current = { token: answer.token, expiresAtMs: answer.expiresOnTimestamp };
      return answer.token;
    } catch (error) {
      this.#credential = undefined;
      throw signInError(error, this.#kind, settings.config.credential === "auto");
    }
  }

  async #ask(credential: TokenCredential): Promise<AccessToken | null> {
    const { settings, clock } = this.#options;
    const { scope } = settings.cloud;
    const isManaged = this.#kind === "managedIdentity";
    const stop = new AbortController();
    const late = clock.sleep(isManaged ? identityTimeoutMs : signInTimeoutMs, stop.signal).then(() => {
      if (isManaged) throw new UnauthorizedError(`no managed identity answered within ${identityTimeoutMs / 1000} s`);
      throw new DeadlineExceededError(`Microsoft Entra ID did not answer within ${signInTimeoutMs / 1000} s`);
    });
    const answer = credential.getToken(scope, { abortSignal: stop.signal });
    try {
      return await Promise.race([answer, late]);
    } finally {
      stop.abort();
      // Whichever comes second is not awaited.
      for (const other of [answer, late]) other.catch(() => {});
    }
  }
}

/** Messages of refusals. The library drops their status, and wraps all other failures alike. Source of the codes: RFC 6749, section 5.2. */
const refusals = /^(invalid_client|invalid_grant|invalid_request|invalid_scope|unauthorized_client|unsupported_grant_type)\b/;

/**
 * A refused credential is told by its status or code, and one that this machine does not have by its name; all else means that Microsoft Entra ID cannot
 * be reached.
 *
 * @param isAutomatic - whether the kind was chosen because nothing else is configured
 */
function signInError(error: unknown, kind: CredentialKind, isAutomatic: boolean): Error {
  if (error instanceof Error && isInvalidInput(error)) return error;
  const { name = "", statusCode } = (typeof error === "object" && error !== null ? error : {}) as { name?: string; statusCode?: number };
  const advice =
    kind === "managedIdentity" && isAutomatic
      ? "; no other credential is configured: set tenantId, clientId and clientSecret (or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET), or credential"
      : "";
  const text = `sign in to Azure by ${kind}: ${messageOf(error)}${advice}`;
  if (name === "CredentialUnavailableError" || isUnauthorized(error)) return new UnauthorizedError(text, { cause: error });
  const isClientError =
    name === "AuthenticationError" && statusCode !== undefined && statusCode >= 400 && statusCode < 500 && statusCode !== 429;
  const isRefused = isClientError || (name === "AuthenticationRequiredError" && refusals.test(messageOf(error)));
  return isRefused ? new UnauthorizedError(text, { cause: error }) : new UnavailableError(text, { cause: error });
}

async function identityCredential(kind: CredentialKind, settings: AciSettings, connections: Connections): Promise<TokenCredential> {
  const identity = await import("@azure/identity");
  const { config, cloud, tenantId = "", clientId = "", managedIdentityClientId } = settings;
  // Own addresses of Entra ID are not in Microsoft's list, which the library would ask.
  const additionalPolicies = [connections.policy];
  const options = { authorityHost: cloud.authorityHost, disableInstanceDiscovery: config.authorityHost !== undefined, additionalPolicies };
  switch (kind) {
    case "clientSecret": {
      const secret =
        config.clientSecretFile === undefined
          ? settings.clientSecret
          : readSettingFile("clientSecretFile", config.clientSecretFile).toString("utf8").trim();
      return new identity.ClientSecretCredential(tenantId, clientId, secret ?? "", options);
    }
    case "clientCertificate":
      return new identity.ClientCertificateCredential(tenantId, clientId, config.clientCertificateFile ?? "", options);
    case "workloadIdentity":
      return new identity.WorkloadIdentityCredential({
        ...options,
        tenantId,
        clientId,
        ...(config.federatedTokenFile !== undefined && { tokenFilePath: config.federatedTokenFile }),
      });
    case "managedIdentity":
      return managedIdentityClientId === undefined
        ? new identity.ManagedIdentityCredential({ additionalPolicies })
        : new identity.ManagedIdentityCredential({ clientId: managedIdentityClientId, additionalPolicies });
    case "azureCli":
      return new identity.AzureCliCredential(tenantId === "" ? {} : { tenantId });
    case "token":
      throw new InvalidInputError("credential token: set tokenFile in the provider's configuration");
  }
}
