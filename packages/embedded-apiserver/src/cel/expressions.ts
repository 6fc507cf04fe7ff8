export { admissionActivation, authorizerOf, compileAdmissionExpression } from "./admission-expressions.ts";
export { compileMatchConditions } from "./match-conditions.ts";
export { ruleErrors } from "./rule-errors.ts";
export { createRuleValidator } from "./rule-validator.ts";
