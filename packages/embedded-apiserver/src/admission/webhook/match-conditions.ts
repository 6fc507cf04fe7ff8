import type { Authorizer } from "../../authorization/authorizer.ts";
import { expressions } from "../../cel/engine.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";
import { reviewFacts, type ReviewObjects } from "./admission-review.ts";
import { admissionNamespace } from "../selectors.ts";
import type { ConfiguredWebhook, Webhook } from "./webhook.ts";

/** Whether the conditions of a webhook match. */
interface ConditionResult {
  readonly matches: boolean;
  /** Set if the request has to be refused, because conditions could not be evaluated. */
  readonly error?: string;
}

type Evaluate = ReturnType<ReturnType<typeof expressions>["compileMatchConditions"]>;

/** Compiled conditions; a changed configuration has other webhooks. */
const compiled = new WeakMap<Webhook, Evaluate>();

/**
 * Evaluates the `matchConditions` of a webhook. Without conditions it matches.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/matchconditions/matcher.go.
 */
export function matchConditions(
  authorizer: Pick<Authorizer, "authorize">,
  { webhook }: ConfiguredWebhook,
  request: AdmissionRequest,
  objects: ReviewObjects,
): ConditionResult {
  const { matchConditions: conditions = [], failurePolicy } = webhook;
  if (conditions.length === 0) return { matches: true };
  // Loaded when the configuration was written.
  const { admissionActivation, authorizerOf, compileMatchConditions } = expressions();
  let evaluate = compiled.get(webhook);
  if (evaluate === undefined) compiled.set(webhook, (evaluate = compileMatchConditions(conditions)));
  const { kind, subresource, name, user } = request;
  const resource = { group: kind.group, resource: kind.plural, subresource, namespace: admissionNamespace(request), name };
  const activation = admissionActivation({
    object: objects.object,
    oldObject: objects.old,
    request: reviewFacts(request, objects),
    authorizer: authorizerOf(user, (who, access) => authorizer.authorize(who, access), resource),
  });
  return evaluate(activation, failurePolicy);
}
