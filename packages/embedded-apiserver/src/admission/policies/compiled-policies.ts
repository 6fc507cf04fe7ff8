import { expressions } from "../../cel/engine.ts";
import type { PolicySpec } from "./policy-fields.ts";

type Expressions = ReturnType<typeof expressions>;

/** Compiled policies by their spec, which is replaced when it changes. */
const validations = new WeakMap<PolicySpec, ReturnType<Expressions["compilePolicy"]>>();
const mutations = new WeakMap<PolicySpec, ReturnType<Expressions["compileMutations"]>>();

/** Program of a ValidatingAdmissionPolicy. */
export function validationsOf(spec: PolicySpec): ReturnType<Expressions["compilePolicy"]> {
  let program = validations.get(spec);
  if (program === undefined) validations.set(spec, (program = expressions().compilePolicy(spec)));
  return program;
}

/** Program of a MutatingAdmissionPolicy. */
export function mutationsOf(spec: PolicySpec): ReturnType<Expressions["compileMutations"]> {
  let program = mutations.get(spec);
  if (program === undefined) mutations.set(spec, (program = expressions().compileMutations(spec)));
  return program;
}
