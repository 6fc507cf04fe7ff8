import { redact } from "./redact.ts";
import { flags } from "../command-line/flags.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { formatPath, valueAt, type ConfigPath, type Source } from "./layers.ts";

/** The fields of a zod issue that are used. */
export interface SchemaIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly code?: string | undefined;
}

export interface ProblemContext {
  /** The whole input. */
  readonly input: unknown;
  /** JSON Schema of the input, for the names of fields; `undefined` if there is none. */
  readonly jsonSchema: object | undefined;
  /** Name of a path for the user: `--os`, `DEFAULT_NODE_NAME`, `vk.yaml: nodes[0].os`. */
  nameOf(path: ConfigPath): string;
}

/** Describes each problem on one line: the path, the value, what was expected, and the nearest valid name. */
export function describeProblems(issues: readonly SchemaIssue[], context: ProblemContext): string[] {
  return issues.flatMap((issue) => describeProblem(issue, context));
}

/** Names a path by its source; without a configuration file, by the flag that could set it. */
export function nameBySource(sourceOf: (path: ConfigPath) => Source, file: string | undefined): (path: ConfigPath) => string {
  return (path) => {
    const source = sourceOf(path);
    if (source.kind === "flag") return `--${source.name}`;
    if (source.kind === "env") return source.name;
    const flag = file === undefined ? flagAt(path) : undefined;
    if (flag !== undefined) return `--${flag}`;
    return [file, formatPath(path)].filter((part) => part !== undefined && part !== "").join(": ") || "configuration";
  };
}

function flagAt(path: ConfigPath): string | undefined {
  const written = formatPath(path).replace(/\[\d+\]/, "[]");
  return flags.find((flag) => flag.path === written)?.name;
}

function describeProblem(issue: SchemaIssue, context: ProblemContext): string[] {
  const path = issue.path.map((key) => (typeof key === "number" ? key : String(key)));
  const { keys, values } = issue as { keys?: unknown; values?: unknown };
  if (Array.isArray(keys)) {
    const known = propertiesAt(context.jsonSchema, path, context.input);
    return keys.map((key) => {
      const hint =
        didYouMean(String(key), known) || (known.length > 0 && known.length <= 12 ? `; expected one of ${known.join(", ")}` : "");
      return `${context.nameOf([...path, String(key)])}: unknown field${hint}`;
    });
  }
  const value = redact(valueAt(context.input, path), String(path.at(-1) ?? ""));
  // A schema with words of its own says more than the list of values.
  const choices = Array.isArray(values) && !issue.message.startsWith("expected ") ? values.map(String) : [];
  const hint = typeof value === "string" && choices.length > 1 ? didYouMean(value, choices) : "";
  const expected =
    choices.length > 0 ? oneOf(choices) : (wholeNumber(issue, schemaAt(context.jsonSchema, path, context.input)) ?? expectation(issue));
  return [`${context.nameOf(path)}: ${shown(value)}: ${expected}${hint}`];
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "not set";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  const text = JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function oneOf(choices: readonly string[]): string {
  return `expected ${choices.length === 1 ? "" : "one of "}${choices.join(", ")}`;
}

const numberIssues: ReadonlySet<string | undefined> = new Set(["invalid_type", "too_small", "too_big"]);

/** What is expected of a value that has to be a whole number, with its whole range; `undefined` for other problems. */
function wholeNumber({ code }: SchemaIssue, schema: unknown): string | undefined {
  if (!numberIssues.has(code) || valueAt(schema, ["type"]) !== "integer") return undefined;
  // The schema of an integer without bounds has those of JavaScript's integers.
  const bound = (name: string): number | undefined => {
    const value = valueAt(schema, [name]);
    return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
  };
  const [least, most] = [bound("minimum"), bound("maximum")];
  if (least === undefined) return `expected a whole number${most === undefined ? "" : ` of at most ${most}`}`;
  return `expected a whole number ${most === undefined ? `of at least ${least}` : `from ${least} to ${most}`}`;
}

function expectation(issue: SchemaIssue): string {
  const { errors } = issue as { errors?: unknown };
  // A union reports "invalid input", with the issues of each of its members.
  if (Array.isArray(errors) && !issue.message.includes("expected ")) {
    const members = (errors.flat() as SchemaIssue[]).map((member) => expectation(member).replace(/^expected /, ""));
    return `expected ${[...new Set(members)].join(" or ")}`;
  }
  const { message } = issue;
  const at = message.indexOf("expected ");
  return (at >= 0 ? message.slice(at) : message)
    .replace(/, received .*$/, "")
    .replace("expected number to be ", "expected a number ")
    .replace(/^expected (array|record|object|boolean)$/, (_whole, type: string) => `expected ${typeNames[type]}`);
}

/** What users call zod's types; {@link shown} names values by the same words. */
const typeNames: Readonly<Record<string, string>> = { array: "a list", record: "an object", object: "an object", boolean: "true or false" };

/** Names of the fields that an object at a path may have. */
function propertiesAt(schema: unknown, path: ConfigPath, input: unknown): string[] {
  const properties = valueAt(schemaAt(schema, path, input), ["properties"]);
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}

/** The schema of the value at a path. */
function schemaAt(schema: unknown, path: ConfigPath, input: unknown): unknown {
  let current = schema;
  for (const [index, key] of path.entries()) {
    const next =
      typeof key === "number"
        ? valueAt(current, ["items"])
        : (valueAt(current, ["properties", key]) ?? valueAt(current, ["additionalProperties"]));
    current = memberFor(next, valueAt(input, path.slice(0, index + 1)));
  }
  return current;
}

/** The member of a union whose constants the value has; the schema itself if it is no union, or no single member fits. */
function memberFor(schema: unknown, value: unknown): unknown {
  const members = valueAt(schema, ["oneOf"]) ?? valueAt(schema, ["anyOf"]);
  if (!Array.isArray(members)) return schema;
  const fitting = members.filter((member) =>
    Object.entries(Object(valueAt(member, ["properties"])) as object).every(([key, property]) => {
      const constant = valueAt(property, ["const"]);
      return constant === undefined || constant === valueAt(value, [key]);
    }),
  );
  return fitting.length === 1 ? fitting[0] : schema;
}
