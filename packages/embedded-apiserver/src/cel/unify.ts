import { dynType, equalTypes, isDynOrError, mapParameters, parametersOf, type CelType } from "./types.ts";

/** Source of this file: github.com/google/cel-go v0.26.0 checker/types.go and checker/mapping.go. */

/** Types that stand for type parameters, by the parameter's name. */
export type Substitutions = ReadonlyMap<string, CelType>;

/** Substitutions under which a value of type `b` can be used as `a`; `undefined` if there are none. */
export function assign(known: Substitutions, a: CelType, b: CelType): Substitutions | undefined {
  const changed = new Map(known);
  return isAssignable(changed, a, b) ? changed : undefined;
}

/** Like {@link assign} for lists of the same length. */
export function assignAll(known: Substitutions, a: readonly CelType[], b: readonly CelType[]): Substitutions | undefined {
  const changed = new Map(known);
  return areAssignable(changed, a, b) ? changed : undefined;
}

/** The type with known parameters replaced. @param toDyn - whether unknown parameters become `dyn` */
export function substitute(known: Substitutions, type: CelType, toDyn: boolean): CelType {
  if (type.kind === "param") {
    const found = known.get(type.name);
    if (found !== undefined) return substitute(known, found, toDyn);
    return toDyn ? dynType : type;
  }
  return mapParameters(type, (parameter) => substitute(known, parameter, toDyn));
}

/** The more general of two types that unify. */
export function mostGeneral(a: CelType, b: CelType): CelType {
  return isLessSpecific(a, b) ? a : b;
}

function isLessSpecific(a: CelType, b: CelType): boolean {
  if (a.kind === "dyn" || a.kind === "param") return true;
  if (b.kind === "dyn" || b.kind === "param" || a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  const left = parametersOf(a);
  const right = parametersOf(b);
  if (left.length === 0) return equalTypes(a, b);
  return left.length === right.length && left.every((type, index) => isLessSpecific(type, right[index] ?? dynType));
}

const nullableKinds: ReadonlySet<string> = new Set(["opaque", "object", "duration", "timestamp", "null"]);

function isAssignable(known: Map<string, CelType>, a: CelType, b: CelType): boolean {
  if (b.kind === "param") {
    const { valid, isKnown } = substitutes(known, a, b);
    if (valid) return true;
    if (isKnown) return false;
  }
  if (a.kind === "param") return substitutes(known, b, a).valid;
  if (isDynOrError(a) || isDynOrError(b)) return true;
  if (a.kind === "null") return nullableKinds.has(b.kind);
  if (b.kind === "null") return nullableKinds.has(a.kind);
  if (a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  if (a.kind === "object" || a.kind === "opaque") if (a.name !== (b as typeof a).name) return false;
  return areAssignable(known, parametersOf(a), parametersOf(b));
}

function areAssignable(known: Map<string, CelType>, a: readonly CelType[], b: readonly CelType[]): boolean {
  return a.length === b.length && a.every((type, index) => isAssignable(known, type, b[index] ?? dynType));
}

function substitutes(
  known: Map<string, CelType>,
  type: CelType,
  parameter: CelType & { readonly kind: "param" },
): { readonly valid: boolean; readonly isKnown: boolean } {
  if (equalTypes(type, parameter)) return { valid: true, isKnown: true };
  const present = known.get(parameter.name);
  if (present !== undefined) {
    if (equalTypes(type, present)) return { valid: true, isKnown: true };
    if (!isAssignable(known, type, present)) return { valid: false, isKnown: true };
    const general = mostGeneral(type, present);
    if (!occurs(known, parameter, general)) known.set(parameter.name, general);
    return { valid: true, isKnown: true };
  }
  if (occurs(known, parameter, type)) return { valid: false, isKnown: false };
  known.set(parameter.name, type);
  return { valid: true, isKnown: false };
}

function occurs(known: Substitutions, parameter: CelType & { readonly kind: "param" }, within: CelType): boolean {
  if (equalTypes(parameter, within)) return true;
  if (within.kind === "param") {
    const present = known.get(within.name);
    return present !== undefined && occurs(known, parameter, present);
  }
  return parametersOf(within).some((type) => occurs(known, parameter, type));
}
