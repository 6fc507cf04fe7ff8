/**
 * The provider suite: one call runs the tests that every provider has to pass. Kubernetes' own conformance tests are another suite.
 *
 * @packageDocumentation
 */
export { allChecks } from "./conformance/all-checks.ts";
export { runCheck, type Check } from "./conformance/check.ts";
export { renderConfigTable } from "./conformance/config-table.ts";
export { describeProvider } from "./conformance/describe-provider.ts";
export { featureNames, features, type Feature } from "./conformance/features.ts";
export type { BackendHooks, ConformanceOptions, ConformanceTimeouts, ReportedBackEnd, TestRunner } from "./conformance/options.ts";
export { shellPrograms, shellScript, type Program, type Recipe, type Recipes } from "./conformance/programs.ts";
export { providerReadmeProblems } from "./conformance/provider-readme.ts";
export type { PlannedContainer, PlannedPod } from "./conformance/planned-pod.ts";
export { ProviderRig } from "./conformance/provider-rig.ts";
export { notChosen, type CheckReport, type ConformanceReport, type FeatureReport } from "./conformance/report.ts";
export { featureParts, type FeaturePart } from "./conformance/feature-parts.ts";
export { contractFeatures, requiredFeatures } from "./conformance/required-features.ts";
export { statusProblems, transitionProblems } from "./conformance/status-rules.ts";
