import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ZunAuthConfig } from "./schema.ts";

/** The field `auth` of a token request to Keystone v3. It is a secret. */
interface KeystoneAuth {
  readonly identity: Readonly<Record<string, unknown>> & { readonly methods: readonly string[] };
  /** Absent for an application credential, which determines the project. */
  readonly scope?: unknown;
}

/** Credentials for a token request, and the endpoints to choose from the token's catalog. */
export interface Credentials {
  /** Keystone's URL, ending in `/v3`. */
  readonly authUrl: string;
  readonly auth: KeystoneAuth;
  /** Kind of credentials, for messages. */
  readonly method: "password" | "application credential" | "token";
}

type Named = { readonly id: string } | { readonly name: string };

/**
 * Chooses the credentials of a complete configuration: an application credential before a token, a token before a password.
 *
 * @throws InvalidInputError with the missing settings, never with a value
 */
export function toCredentials(config: ZunAuthConfig): Credentials {
  const { authUrl } = config;
  if (authUrl === undefined)
    throw new InvalidInputError(
      "sign in to OpenStack: no authUrl is set; set it (or OS_AUTH_URL), or name a cloud of clouds.yaml (cloud, OS_CLOUD)",
    );
  const url = authUrl.replace(/\/+$/, "");
  return { authUrl: url.endsWith("/v3") ? url : `${url.replace(/\/v2\.0$/, "")}/v3`, ...toAuth(config) };
}

function toAuth(config: ZunAuthConfig): Pick<Credentials, "auth" | "method"> {
  const { applicationCredentialId, applicationCredentialName, applicationCredentialSecret: secret, token, password } = config;
  if (applicationCredentialId !== undefined || applicationCredentialName !== undefined) {
    if (secret === undefined) throw missing("application credential", "applicationCredentialSecret (OS_APPLICATION_CREDENTIAL_SECRET)");
    const credential =
      applicationCredentialId === undefined
        ? { name: applicationCredentialName, secret, user: userOf(config) }
        : { id: applicationCredentialId, secret };
    return {
      method: "application credential",
      auth: { identity: { methods: ["application_credential"], application_credential: credential } },
    };
  }
  if (token !== undefined)
    return { method: "token", auth: { identity: { methods: ["token"], token: { id: token } }, scope: scopeOf(config) } };
  if (password === undefined)
    throw missing(
      "password",
      "password (OS_PASSWORD), or an application credential (OS_APPLICATION_CREDENTIAL_ID and _SECRET), or a token (OS_TOKEN)",
    );
  const user = { ...userOf(config), password };
  return { method: "password", auth: { identity: { methods: ["password"], password: { user } }, scope: scopeOf(config) } };
}

function userOf(config: ZunAuthConfig): Readonly<Record<string, unknown>> {
  if (config.userId !== undefined) return { id: config.userId };
  if (config.username === undefined) throw missing("password", "username (OS_USERNAME) or userId (OS_USER_ID)");
  return { name: config.username, domain: domainOf(config.userDomainId, config.userDomainName, config) };
}

function scopeOf(config: ZunAuthConfig): unknown {
  if (config.projectId !== undefined) return { project: { id: config.projectId } };
  if (config.projectName === undefined) throw missing("project", "projectName (OS_PROJECT_NAME) or projectId (OS_PROJECT_ID)");
  return { project: { name: config.projectName, domain: domainOf(config.projectDomainId, config.projectDomainName, config) } };
}

function domainOf(id: string | undefined, name: string | undefined, { domainId, domainName }: ZunAuthConfig): Named {
  if (id !== undefined) return { id };
  if (name !== undefined) return { name };
  if (domainId !== undefined) return { id: domainId };
  return domainName === undefined ? { id: "default" } : { name: domainName };
}

function missing(what: string, settings: string): InvalidInputError {
  return new InvalidInputError(`sign in to OpenStack by ${what}: set ${settings}`);
}
