import { methodNotAllowed } from "../errors/api-status-error.ts";
import { runSteps, type Steps } from "../rest/steps.ts";
import type { Answer, ApiResponse } from "./api-request.ts";
import { pretty } from "./pretty.ts";
import { ConversionPending } from "../storage/webhook-view.ts";
import type { ResourceCall, ResourceContext } from "./resource-call.ts";
import { withWarnings } from "./respond.ts";

/** Handles one method of a resource. */
export type Verb = (context: ResourceContext, call: ResourceCall) => Answer;

/** Verbs of a resource by HTTP method. */
export type Verbs = Readonly<Record<string, Verb>>;

/** Verb of a write, which answers at once unless admission has to wait. */
export function writing(steps: (context: ResourceContext, call: ResourceCall) => Steps<ApiResponse>): Verb {
  return (context, call) => {
    const answer = runSteps(steps(context, call));
    if (!(answer instanceof Promise)) return answer;
    return answer.then((response) => pretty(call.request, withWarnings(response, call.warnings)));
  };
}

/** Calls the verb of an HTTP method, again after a webhook has converted the objects that it reads. @throws ApiStatusError 405 */
export function runVerb(verbs: Verbs, context: ResourceContext, call: ResourceCall): Answer {
  const verb = verbs[call.request.method];
  if (verb === undefined) throw methodNotAllowed();
  return call.kind.webhookConversion === undefined ? verb(context, call) : runConverting(verb, context, call);
}

async function runConverting(verb: Verb, context: ResourceContext, call: ResourceCall): Promise<ApiResponse> {
  for (;;) {
    try {
      return pretty(call.request, withWarnings(await verb(context, call), call.warnings));
    } catch (error) {
      if (!(error instanceof ConversionPending)) throw error;
      await error.settled;
      call.warnings.length = 0;
    }
  }
}
