import type { ApiFacts, ShapeFacts } from "./api-facts.ts";

/**
 * Checks a value against a shape of AWS's model: types, required members, enumerations, lengths, ranges and patterns.
 *
 * AWS ignores members that its model does not have. They are a problem here, because a misspelled member would otherwise go unnoticed.
 *
 * @returns the first problem, in the words of AWS's own validation where those are known; `undefined` if there is none
 */
export function shapeProblem(facts: ApiFacts, shapeName: string, value: unknown, path: string = ""): ShapeProblem | undefined {
  const shape = facts.shapes[shapeName] ?? { type: shapeName as ShapeFacts["type"] };
  const wrongType = typeProblem(shape, value, path);
  if (wrongType !== undefined) return { kind: "type", message: wrongType };
  switch (shape.type) {
    case "structure":
      return structureProblem(facts, shapeName, value as Readonly<Record<string, unknown>>, path);
    case "list":
      return (
        lengthProblem(shape, (value as readonly unknown[]).length, value, path) ??
        firstProblem(
          (value as readonly unknown[]).map((entry, index) => [entry, `${path}.${index + 1}.member`]),
          facts,
          shape.member,
        )
      );
    case "map":
      return (
        lengthProblem(shape, Object.keys(value as object).length, value, path) ??
        firstProblem(
          Object.keys(value as object).map((key) => [key, path]),
          facts,
          shape.key,
        ) ??
        firstProblem(
          Object.entries(value as object).map(([key, entry]) => [entry, `${path}.${key}.member`]),
          facts,
          shape.value,
        )
      );
    case "string":
      return stringProblem(shape, value as string, path);
    case "boolean":
    case "blob":
      return undefined;
    default:
      return rangeProblem(shape, value as number, path);
  }
}

/** `type`: the value cannot be read at all. `value`: it can, and is refused. */
export interface ShapeProblem {
  readonly kind: "type" | "value";
  readonly message: string;
}

function structureProblem(
  facts: ApiFacts,
  shapeName: string,
  value: Readonly<Record<string, unknown>>,
  path: string,
): ShapeProblem | undefined {
  const { members = {}, required = [] } = facts.shapes[shapeName] ?? {};
  const at = (member: string): string => (path === "" ? member : `${path}.${member}`);
  const unknown = Object.keys(value).find((member) => !(member in members));
  if (unknown !== undefined) return { kind: "type", message: `${shapeName} has no member '${at(unknown)}'` };
  const missing = required.find((member) => value[member] == null);
  if (missing !== undefined) return constraint(null, at(missing), "Member must not be null");
  for (const [member, shape] of Object.entries(members)) {
    const problem = value[member] == null ? undefined : shapeProblem(facts, shape, value[member], at(member));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function firstProblem(
  entries: readonly (readonly [value: unknown, path: string])[],
  facts: ApiFacts,
  shape: string = "string",
): ShapeProblem | undefined {
  for (const [value, path] of entries) {
    const problem = shapeProblem(facts, shape, value, path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function typeProblem({ type }: ShapeFacts, value: unknown, path: string): string | undefined {
  const isOfType = {
    structure: isObject(value),
    map: isObject(value),
    list: Array.isArray(value),
    string: typeof value === "string",
    blob: typeof value === "string",
    boolean: typeof value === "boolean",
    integer: Number.isInteger(value),
    long: Number.isInteger(value),
    double: typeof value === "number",
    float: typeof value === "number",
    timestamp: typeof value === "number",
  }[type];
  return isOfType ? undefined : `'${path}' must be a ${type}, and is ${JSON.stringify(value)}`;
}

function stringProblem(shape: ShapeFacts, value: string, path: string): ShapeProblem | undefined {
  if (shape.enum !== undefined && !shape.enum.includes(value))
    return constraint(value, path, `Member must satisfy enum value set: [${shape.enum.join(", ")}]`);
  const tooLong = lengthProblem(shape, value.length, value, path);
  if (tooLong !== undefined) return tooLong;
  if (shape.pattern !== undefined && !new RegExp(`^(?:${shape.pattern})$`, "u").test(value))
    return constraint(value, path, `Member must satisfy regular expression pattern: ${shape.pattern}`);
  return undefined;
}

function lengthProblem({ min, max }: ShapeFacts, length: number, value: unknown, path: string): ShapeProblem | undefined {
  if (min !== undefined && length < min) return constraint(value, path, `Member must have length greater than or equal to ${min}`);
  if (max !== undefined && length > max) return constraint(value, path, `Member must have length less than or equal to ${max}`);
  return undefined;
}

function rangeProblem({ min, max }: ShapeFacts, value: number, path: string): ShapeProblem | undefined {
  if (min !== undefined && value < min) return constraint(value, path, `Member must have value greater than or equal to ${min}`);
  if (max !== undefined && value > max) return constraint(value, path, `Member must have value less than or equal to ${max}`);
  return undefined;
}

function constraint(value: unknown, path: string, rule: string): ShapeProblem {
  const shown = value === null ? "null" : `'${typeof value === "string" ? value : JSON.stringify(value)}'`;
  return { kind: "value", message: `1 validation error detected: Value ${shown} at '${path}' failed to satisfy constraint: ${rule}` };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
