import { isInvalidInput } from "@virtual-kubelet/errdefs";
import type { CredentialSource, User } from "../access-control/access-control.ts";
import { bearerTokenOf } from "./bearer-token.ts";
import type { ClientCertificates } from "./client-certificate.ts";
import type { TokenReviews } from "./token-reviews.ts";

const authenticatedGroup = "system:authenticated";

const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

export interface AuthenticatorOptions {
  readonly certificates: Pick<ClientCertificates, "authenticate" | "wasShown">;
  /** `undefined` refuses all tokens. */
  readonly tokens?: Pick<TokenReviews, "authenticate"> | undefined;
  /** Treat requests without credentials as `system:anonymous`. */
  readonly anonymous: boolean;
}

/**
 * Identifies the caller by client certificate, then by bearer token, then as anonymous if that is allowed. An invalid certificate does not
 * prevent authentication by token.
 *
 * Source: kubernetes v1.36.3 cmd/kubelet/app/auth.go.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * @returns `undefined` if the request has no valid credentials
   * @throws UnavailableError if the API server cannot be asked; `signal.reason` when aborted
   */
  async authenticate(request: CredentialSource, signal: AbortSignal): Promise<User | undefined> {
    const { certificates, tokens } = this.#options;
    const byCertificate = certificates.authenticate(request);
    if (byCertificate) return withGroup(byCertificate);
    let token: string | undefined;
    try {
      token = bearerTokenOf(request.headers);
    } catch (error) {
      if (isInvalidInput(error)) return undefined;
      throw error;
    }
    if (token === undefined) return this.#options.anonymous && !certificates.wasShown(request) ? anonymous : undefined;
    const byToken = await tokens?.authenticate(token, signal);
    return byToken && withGroup(byToken);
  }
}

function withGroup(user: User): User {
  if (user.groups.includes(authenticatedGroup)) return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}
