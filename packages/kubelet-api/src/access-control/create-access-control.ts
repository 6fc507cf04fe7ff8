import type { Clock, Random } from "@virtual-kubelet/clock";
import type { KubeClient, Metrics } from "@virtual-kubelet/kube-client";
import type { AccessControl } from "./access-control.ts";
import { Authenticator } from "../authentication/authenticator.ts";
import { ClientCertificates } from "../authentication/client-certificate.ts";
import type { ClientCa } from "../authentication/client-ca.ts";
import { TokenReviews } from "../authentication/token-reviews.ts";
import { SubjectAccessReviews } from "../authorization/subject-access-reviews.ts";

/** Times are in milliseconds. */
export interface AccessControlOptions {
  /** CA that signs the client certificates to accept. */
  readonly clientCa: ClientCa;
  /** Accept bearer tokens. Default: true. */
  readonly tokens?: boolean | undefined;
  /** How long the result of a TokenReview is cached. Default: two minutes. */
  readonly tokenTtlMs?: number | undefined;
  /** Treat requests without credentials as `system:anonymous` instead of refusing them. Default: false. */
  readonly anonymous?: boolean | undefined;
  /**
   * `Webhook` asks the API server what the caller may do; `AlwaysAllow` allows every authenticated caller everything. Default: `Webhook`.
   */
  readonly authorizationMode?: "Webhook" | "AlwaysAllow" | undefined;
  /** How long an allowed access is cached. Default: five minutes. */
  readonly allowedTtlMs?: number | undefined;
  /** How long a denied access is cached. Default: 30 seconds. */
  readonly deniedTtlMs?: number | undefined;
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Aborts reviews in progress. */
  readonly lifetime: AbortSignal;
}

/**
 * Access control of a kubelet: authenticates callers by client certificate or by token (TokenReview), and asks the API server whether they
 * are authorized (SubjectAccessReview). A request is refused whenever a check cannot be made.
 */
export function createAccessControl(options: AccessControlOptions): AccessControl {
  const { anonymous = false, authorizationMode = "Webhook", tokens = true } = options;
  const authenticator = new Authenticator({
    certificates: new ClientCertificates(options),
    tokens: tokens ? new TokenReviews({ ...options, ttlMs: options.tokenTtlMs }) : undefined,
    anonymous,
  });
  const reviews = new SubjectAccessReviews(options);
  return {
    authenticate: (request, signal) => authenticator.authenticate(request, signal),
    authorize: (user, attributes, signal) =>
      authorizationMode === "AlwaysAllow" ? Promise.resolve({ allowed: true }) : reviews.authorize(user, attributes, signal),
  };
}
