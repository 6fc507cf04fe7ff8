import type { FunctionDeclaration } from "../environment.ts";
import { functionTable, type FunctionPart } from "../signatures.ts";
import { addressFunctions } from "./addresses.ts";
import { authorizerFunctions } from "./authorizer.ts";
import { conversions } from "./conversions.ts";
import { listFunctions, optionalFunctions } from "./lists.ts";
import { operators } from "./operators.ts";
import { quantityFunctions } from "./quantities.ts";
import { semverFunctions } from "./semver.ts";
import { stringFunctions } from "./strings.ts";
import { timeFunctions } from "./time.ts";
import { formatFunctions, patchFunctions, urlFunctions } from "./urls-and-formats.ts";

const parts: readonly FunctionPart[] = [
  ...authorizerFunctions,
  ...operators,
  ...conversions,
  ...stringFunctions,
  ...timeFunctions,
  ...optionalFunctions,
  ...listFunctions,
  ...addressFunctions,
  ...quantityFunctions,
  ...semverFunctions,
  ...urlFunctions,
  ...formatFunctions,
];

/** Functions of every expression. Source: k8s.io/apiserver v0.36.3 pkg/cel/environment/base.go. */
export const baseFunctions: ReadonlyMap<string, FunctionDeclaration> = functionTable(parts);

/** Functions of the mutations of a MutatingAdmissionPolicy. Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/cel/compile.go. */
export const mutationFunctions: ReadonlyMap<string, FunctionDeclaration> = functionTable([...parts, ...patchFunctions]);
