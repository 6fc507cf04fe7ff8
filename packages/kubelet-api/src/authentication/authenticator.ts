import { isInvalidInput } from "@virtual-kubelet/errdefs";
import type { CredentialSource, User } from "../access-control/access-control.ts";
import { bearerTokenOf } from "./bearer-token.ts";
import type { ClientCertificates } from "./client-certificate.ts";
import type { TokenReviews } from "./token-reviews.ts";

/** Group of everybody whose credentials hold. */
const authenticatedGroup = "system:authenticated";

/** Who calls without credentials, where that is allowed. */
const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

/** What an {@link Authenticator} asks. */
export interface AuthenticatorOptions {
  readonly certificates: Pick<ClientCertificates, "authenticate" | "wasShown">;
  /** Absent: no token counts. */
  readonly tokens?: Pick<TokenReviews, "authenticate"> | undefined;
  /** Whether who shows no credentials at all is `system:anonymous`. */
  readonly anonymous: boolean;
}

/**
 * Says who calls: by client certificate, else by bearer token, else, if allowed, nobody in particular. A certificate
 * that does not hold is no obstacle to a token that does.
 *
 * Source: kubernetes v1.36.3 cmd/kubelet/app/auth.go.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * @returns `undefined` if no credentials hold
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
