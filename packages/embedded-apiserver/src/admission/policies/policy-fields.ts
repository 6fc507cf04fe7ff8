import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import type { MatchCondition, MatchResources } from "../../kinds/plain/validate-matching.ts";

/** Spec of a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy, after its defaults. */
export interface PolicySpec {
  readonly failurePolicy?: string;
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
  readonly matchConstraints?: MatchResources;
  readonly matchConditions?: readonly MatchCondition[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly validations?: readonly Validation[];
  readonly auditAnnotations?: readonly { readonly key: string; readonly valueExpression: string }[];
  readonly mutations?: readonly Mutation[];
  readonly reinvocationPolicy?: string;
}

/** A change by a policy. The field that `patchType` names is set. */
export interface Mutation {
  readonly patchType?: string;
  readonly applyConfiguration?: { readonly expression?: string };
  readonly jsonPatch?: { readonly expression?: string };
}

/** A check of a policy. */
export interface Validation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
}

/** Spec of a binding of either kind, after its defaults. */
export interface BindingSpec {
  readonly policyName: string;
  readonly paramRef?: ParamRef;
  readonly matchResources?: MatchResources;
  readonly validationActions?: readonly string[];
}

/** Parameters of a binding. */
export interface ParamRef {
  readonly name?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelector;
  readonly parameterNotFoundAction?: string;
}
