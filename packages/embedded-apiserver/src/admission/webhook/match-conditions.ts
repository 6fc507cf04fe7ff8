import type { JsonObject } from "../../json/json-value.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";
import type { ReviewObjects } from "./admission-review.ts";
import type { ConfiguredWebhook } from "./webhook.ts";

/** Whether the conditions of a webhook match. */
export interface ConditionResult {
  readonly matches: boolean;
  /** Set if the request has to be refused, because conditions could not be evaluated. */
  readonly error?: string;
}

/** Evaluates the match conditions of a webhook, of which there is at least one. `facts` is the AdmissionRequest without its objects. */
export type MatchConditions = (
  hook: ConfiguredWebhook,
  request: AdmissionRequest,
  review: ReviewObjects & { readonly facts: JsonObject },
) => ConditionResult;

/** Refuses requests for webhooks with conditions, as the real server does with conditions that it cannot evaluate. */
export const unevaluatedConditions: MatchConditions = ({ webhook: { failurePolicy } }) =>
  failurePolicy === "Ignore" ? { matches: false } : { matches: false, error: "this server does not evaluate matchConditions" };
