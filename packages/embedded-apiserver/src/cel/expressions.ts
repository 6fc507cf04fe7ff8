export { admissionActivation, authorizerOf, compileAdmissionExpression } from "./admission-expressions.ts";
export { compileMatchConditions } from "./match-conditions.ts";
export { compileMutations } from "./mutation-program.ts";
export { matchExpressionErrors, policyExpressionErrors } from "./policy-errors.ts";
export { compilePolicy } from "./policy-program.ts";
export { policyTypeWarnings } from "./policy-type-check.ts";
export { ruleErrors } from "./rule-errors.ts";
export { createRuleValidator } from "./rule-validator.ts";
