/** The part of JSON Schema that Zun's schemas use. */
type Schema = Readonly<Record<string, unknown>>;

/**
 * The first problem of a value according to one of Zun's schemas, with the API's message; `undefined` if the value is valid.
 *
 * @param name - name of the value in the message
 */
export function schemaProblem(schema: Schema, value: unknown, name = "input"): string | undefined {
  return typeProblem(schema, value, name) ?? combinedProblem(schema, value, name) ?? shapeProblem(schema, value, name);
}

function typeProblem({ type, enum: choices }: Schema, value: unknown, name: string): string | undefined {
  const types = (Array.isArray(type) ? type : type === undefined ? [] : [type]) as readonly string[];
  if (types.length > 0 && !types.some((each) => isOf(each, value)))
    return `Invalid input for field/attribute ${name}. Value: ${show(value)}. ${show(value)} is not of type ${types.join(", ")}`;
  if (Array.isArray(choices) && !choices.includes(value))
    return `Invalid input for field/attribute ${name}. Value: ${show(value)}. ${show(value)} is not one of ${show(choices)}`;
  return undefined;
}

function combinedProblem({ allOf, anyOf, oneOf, not }: Schema, value: unknown, name: string): string | undefined {
  const count = (list: unknown): number =>
    (list as readonly Schema[]).filter((each) => schemaProblem(each, value, name) === undefined).length;
  const failed = (allOf as readonly Schema[] | undefined)?.map((each) => schemaProblem(each, value, name)).find(Boolean);
  if (failed !== undefined) return failed;
  if (anyOf !== undefined && count(anyOf) === 0) return `${name} is not valid under any of the given schemas`;
  if (oneOf !== undefined && count(oneOf) !== 1)
    return `${name} is valid under ${count(oneOf)} of the given schemas, and must be under one`;
  if (not !== undefined && schemaProblem(not as Schema, value, name) === undefined) return `${name} should not be valid under ${show(not)}`;
  return undefined;
}

function shapeProblem(schema: Schema, value: unknown, name: string): string | undefined {
  if (typeof value === "string") return textProblem(schema, value, name);
  if (typeof value === "number") return numberProblem(schema, value, name);
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined
      ? undefined
      : value.map((each, index) => schemaProblem(items as Schema, each, `${name}[${index}]`)).find(Boolean);
  }
  return typeof value === "object" && value !== null ? objectProblem(schema, value as Schema) : undefined;
}

function textProblem({ minLength = 0, maxLength = Infinity, pattern }: Schema, value: string, name: string): string | undefined {
  if (value.length < Number(minLength)) return `Invalid input for field/attribute ${name}. ${show(value)} is too short`;
  if (value.length > Number(maxLength)) return `Invalid input for field/attribute ${name}. ${show(value)} is too long`;
  if (typeof pattern === "string" && !new RegExp(pattern).test(value))
    return `Invalid input for field/attribute ${name}. ${show(value)} does not match ${show(pattern)}`;
  return undefined;
}

function numberProblem({ minimum = -Infinity, maximum = Infinity }: Schema, value: number, name: string): string | undefined {
  if (value < Number(minimum))
    return `Invalid input for field/attribute ${name}. Value: ${value}. ${value} is less than the minimum of ${String(minimum)}`;
  if (value > Number(maximum))
    return `Invalid input for field/attribute ${name}. Value: ${value}. ${value} is greater than the maximum of ${String(maximum)}`;
  return undefined;
}

function objectProblem(schema: Schema, value: Schema): string | undefined {
  const {
    properties = {},
    patternProperties = {},
    required = [],
    additionalProperties,
  } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly patternProperties?: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
    readonly additionalProperties?: boolean;
  };
  const missing = required.find((key) => !(key in value));
  if (missing !== undefined) return `'${missing}' is a required property`;
  for (const [key, entry] of Object.entries(value)) {
    const own = properties[key];
    const matching = Object.entries(patternProperties).filter(([pattern]) => new RegExp(pattern).test(key));
    if (!own && matching.length === 0 && additionalProperties === false)
      return `Additional properties are not allowed ('${key}' was unexpected)`;
    const problem = (own && schemaProblem(own, entry, key)) ?? matching.map(([, each]) => schemaProblem(each, entry, key)).find(Boolean);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
