import type { Value } from "./values.ts";
import type { CelType } from "./types.ts";

/** One signature of a function, with what it does. */
export interface Overload {
  /** cel-go's name of the overload, on which costs depend. */
  readonly id: string;
  /** Whether the first of `parameters` is written in front of the dot. */
  readonly isMember: boolean;
  readonly parameters: readonly CelType[];
  readonly result: CelType;
}

/** A function of the language. Operators are functions such as `_+_`. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /**
   * Computes the result.
   *
   * @param overload - the only overload that the arguments' static types permit
   * @throws EvaluationError, also if the arguments match no overload
   */
  readonly call: (args: readonly Value[], overload?: Overload) => Value;
}

/** What an expression can refer to. */
export interface Environment {
  /** Variables by name, which may contain dots. */
  readonly variables: ReadonlyMap<string, CelType>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** Type of an object type's field; `undefined` if there is no such field. */
  readonly fieldType: (typeName: string, field: string) => CelType | undefined;
  /** Whether messages of that type can be created. */
  readonly hasType?: (typeName: string) => boolean;
}
