import type { Random } from "@virtual-kubelet/clock";
import { badRequest, internalError } from "../../errors/api-status-error.ts";
import { admissionReviewKind, decodeReview } from "../../outbound/decode-review.ts";
import { WebhookConfigError, type WebhookClient } from "../../outbound/webhook-client.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";
import { admissionReview, denial, readReview, reviewVersionOf, type ReviewAnswer, type ReviewObjects } from "./admission-review.ts";
import type { Webhook } from "./webhook.ts";

/** A webhook could not be called, or its answer is not usable: its failure policy decides. */
export class WebhookCallError extends Error {
  /** @param reason - with the real server's words */
  constructor(webhookName: string, reason: string) {
    super(`failed calling webhook ${JSON.stringify(webhookName)}: ${reason}`);
    this.name = "WebhookCallError";
  }
}

/** Dependencies of {@link callWebhook}. */
export interface WebhookCaller {
  readonly client: Pick<WebhookClient, "post">;
  readonly random: Pick<Random, "uuid">;
}

/**
 * Sends a review to a webhook. Its warnings are added to the request.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/mutating/dispatcher.go and validating/dispatcher.go.
 *
 * @throws ApiStatusError if the webhook denies the request or does not support dry runs
 * @throws WebhookCallError if it could not be called
 */
export async function callWebhook(
  { client, random }: WebhookCaller,
  webhook: Webhook,
  request: AdmissionRequest,
  { isMutating, ...objects }: ReviewObjects & { readonly isMutating: boolean },
): Promise<ReviewAnswer> {
  const { name, sideEffects, clientConfig, timeoutSeconds } = webhook;
  if (request.dryRun && sideEffects !== "None" && sideEffects !== "NoneOnDryRun")
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
  const version = reviewVersionOf(webhook.admissionReviewVersions);
  if (version === undefined)
    throw new WebhookCallError(
      name,
      "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
    );
  const uid = random.uuid();
  const review = await client
    .post(clientConfig, admissionReview(version, uid, request, objects), timeoutSeconds)
    .then((answered) => decodeReview(admissionReviewKind, version, answered))
    .catch((error: unknown) => {
      const action = error instanceof WebhookConfigError ? "could not get REST client" : "failed to call webhook";
      throw callError(name, action, error);
    });
  let answer: ReviewAnswer;
  try {
    answer = readReview(review, { uid, version, isMutating });
  } catch (error) {
    throw callError(name, "received invalid webhook response", error);
  }
  for (const warning of answer.warnings) request.warn(warning);
  if (!answer.allowed) throw denial(name, answer.result);
  return answer;
}

function callError(webhookName: string, action: string, error: unknown): WebhookCallError {
  return new WebhookCallError(webhookName, `${action}: ${error instanceof Error ? error.message : String(error)}`);
}

/** Error for the client if a webhook could not be called; `undefined` if its policy is to go on. */
export function failureOf({ failurePolicy }: Webhook, error: unknown): unknown {
  if (!(error instanceof WebhookCallError)) return error;
  return failurePolicy === "Ignore" ? undefined : internalError(error.message);
}
