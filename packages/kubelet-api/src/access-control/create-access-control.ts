import type { Clock, Random } from "@virtual-kubelet/clock";
import type { KubeClient, Metrics } from "@virtual-kubelet/kube-client";
import type { AccessControl } from "./access-control.ts";
import { Authenticator } from "../authentication/authenticator.ts";
import { ClientCertificates } from "../authentication/client-certificate.ts";
import type { ClientCa } from "../authentication/client-ca.ts";
import { TokenReviews } from "../authentication/token-reviews.ts";
import { SubjectAccessReviews } from "../authorization/subject-access-reviews.ts";

/** Who may call a node's server, in a kubelet's terms. Times are in milliseconds. */
export interface AccessControlOptions {
  /** Whose client certificates count. */
  readonly clientCa: ClientCa;
  /** Whether bearer tokens count; default `true`. */
  readonly tokens?: boolean | undefined;
  /** How long the API server's word on a token counts; default two minutes. */
  readonly tokenTtlMs?: number | undefined;
  /** Whether who shows no credentials is `system:anonymous`; default `false`: they are refused. */
  readonly anonymous?: boolean | undefined;
  /** `Webhook` (default) asks the API server what the caller may; with `AlwaysAllow` who is known may all. */
  readonly authorizationMode?: "Webhook" | "AlwaysAllow" | undefined;
  /** How long a permission counts; default five minutes. */
  readonly allowedTtlMs?: number | undefined;
  /** How long a refusal counts; default 30 seconds. */
  readonly deniedTtlMs?: number | undefined;
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Ends questions to the API server that are under way. */
  readonly lifetime: AbortSignal;
}

/**
 * A kubelet's access control: a client certificate or a token says who calls (TokenReview), and the API server says
 * whether they may (SubjectAccessReview). It refuses whatever it cannot find out.
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
