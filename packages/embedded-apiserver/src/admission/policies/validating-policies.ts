import { ApiStatusError, forbidden } from "../../errors/api-status-error.ts";
import type { Kind } from "../../kinds/kind.ts";
import { runSteps, type Steps } from "../../rest/steps.ts";
import type { AdmissionContext } from "../admission-context.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission-plugin.ts";
import { admissionName } from "../selectors.ts";
import { inVersion, type VersionedObjects } from "../versioned-objects.ts";
import { validationsOf } from "./compiled-policies.ts";
import { PolicyInputs } from "./policy-input.ts";
import { PolicySet, type PolicyInvocation } from "./policy-set.ts";

/** Dependencies of the plugins of policies. */
export type PolicyPluginOptions = Pick<AdmissionContext, "cluster" | "authorizer" | "resources">;

/**
 * Evaluates ValidatingAdmissionPolicies that are bound.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/validating/dispatcher.go.
 */
export function createValidatingPolicies(options: PolicyPluginOptions): AdmissionPlugin {
  const policies = new PolicySet(options, "ValidatingAdmissionPolicy");
  return {
    name: "ValidatingAdmissionPolicy",
    handles: (subject) => policies.handles(subject),
    validate: (request) => runSteps(validate(options, policies, request)),
  };
}

interface Denial {
  readonly policy: string;
  readonly binding?: string;
  readonly message: string;
  readonly reason?: string;
}

function* validate({ cluster, authorizer }: PolicyPluginOptions, policies: PolicySet, request: AdmissionRequest): Steps<void> {
  const denials: Denial[] = [];
  const versions = new Map<Kind, VersionedObjects>();
  let inputs: PolicyInputs | undefined;
  for (const match of [...policies.matching(request)]) {
    if (match.problem !== undefined) {
      const binding = match.binding === undefined ? {} : { binding: match.binding.name };
      if (match.policy.spec.failurePolicy !== "Ignore") denials.push({ policy: match.policy.name, ...binding, message: match.problem });
      continue;
    }
    const { policy, kind, params } = match;
    const objects = versions.get(kind) ?? (yield* inVersion(request, kind));
    versions.set(kind, objects);
    inputs ??= new PolicyInputs(cluster, authorizer, request);
    for (const denial of validationsOf(policy.spec).evaluate(inputs.of(objects, params))) denials.push(...actOn(denial, match, request));
  }
  const [first] = denials;
  if (first !== undefined) throw refusal(first, request);
}

/** Does what the binding says. @returns the denial if the request is to be refused */
function actOn(denial: Pick<Denial, "message" | "reason">, { policy, binding }: PolicyInvocation, request: AdmissionRequest): Denial[] {
  const names = { policy: policy.name, binding: binding.name };
  return (binding.spec.validationActions ?? []).flatMap((action) => {
    if (action === "Warn")
      request.warn(`Validation failed for ValidatingAdmissionPolicy '${names.policy}' with binding '${names.binding}': ${denial.message}`);
    return action === "Deny" ? [{ ...names, ...denial }] : [];
  });
}

const codes: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 };

function refusal({ policy, binding, message: problem, reason = "Invalid" }: Denial, request: AdmissionRequest): ApiStatusError {
  const bound = binding === undefined ? "" : ` with binding '${binding}'`;
  const message = `ValidatingAdmissionPolicy '${policy}'${bound} denied request: ${problem}`;
  const refused = forbidden(request.kind, admissionName(request), message, [{ message }]).status;
  return new ApiStatusError({ ...refused, reason, code: codes[reason] ?? 422 });
}
