import { stringify } from "yaml";
import type { Flag } from "../../packages/cli/src/command-line/flag.ts";
import { envNamesOf, flags } from "../../packages/cli/src/command-line/flags.ts";

/** The part of a JSON Schema that the reference shows. `expected` and `example` are keywords of our own. */
export interface SettingSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly expected?: string;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, SettingSchema>>;
  readonly required?: readonly string[];
  readonly items?: SettingSchema;
  readonly anyOf?: readonly SettingSchema[];
}

/** A setting of the configuration file. */
export interface Setting {
  /** Such as `nodes[].orphans.grace`. */
  readonly path: string;
  readonly schema: SettingSchema;
  readonly isRequired: boolean;
  /** Whether it holds other settings and no value of its own. */
  readonly isGroup: boolean;
}

/** Every setting of a JSON Schema, in its order; a group stands before its members. */
export function settingsOf(schema: SettingSchema, prefix: string = ""): Setting[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const path = `${prefix}${name}`;
    const members = [
      ...settingsOf(inner, `${path}.`),
      ...(inner.items === undefined ? [] : settingsOf(inner.items, `${path}[].`)),
      ...(inner.anyOf ?? []).flatMap((variant) => settingsOf(variant, `${path}.`)),
    ];
    const isGroup = members.length > 0 && inner.anyOf === undefined;
    return [{ path, schema: inner, isRequired: schema.required?.includes(name) ?? false, isGroup }, ...members];
  });
}

/** A part of the reference: settings below `paths`, except those of another part with a longer path. */
export interface Section {
  readonly heading: string;
  readonly paths: readonly string[];
}

/** Orphan deletion is first, because it is the one thing that the program removes unasked. */
const sections: readonly Section[] = [
  { heading: "Removal of orphans", paths: ["nodes[].orphans"] },
  { heading: "The file and the program's times", paths: ["apiVersion", "kind", "startupTimeout", "shutdownTimeout"] },
  { heading: "The cluster", paths: ["cluster"] },
  { heading: "Logging", paths: ["log"] },
  { heading: "Health", paths: ["health"] },
  { heading: "The node's HTTPS server", paths: ["kubelet"] },
  { heading: "Several instances", paths: ["instance"] },
  { heading: "Nodes", paths: ["nodes"] },
];

function isBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}.`) || path.startsWith(`${top}[]`);
}

function titleOf(path: string): string {
  const name = path.split(".")[0]?.replace("[]", "") ?? path;
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/**
 * The settings by section. A setting without a section of its own, such as one that was added to the schema later, gets one that is named
 * after its first part.
 */
export function bySection(settings: readonly Setting[], known: readonly Section[] = sections): Map<string, Setting[]> {
  const found = new Map<string, Setting[]>(known.map(({ heading }) => [heading, []]));
  for (const setting of settings) {
    const [best] = known
      .flatMap(({ heading, paths }) => paths.map((path) => ({ heading, path })))
      .filter(({ path }) => isBelow(setting.path, path))
      .toSorted((a, b) => b.path.length - a.path.length);
    const heading = best?.heading ?? titleOf(setting.path);
    found.set(heading, [...(found.get(heading) ?? []), setting]);
  }
  return new Map([...found].filter(([, members]) => members.length > 0));
}

const code = (text: string): string => `\`${text}\``;

/** A value as one writes it in YAML, on one line. */
function inline(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

/** What the schema expects, in words. */
function expectation({ type, const: only, enum: choices, expected, items, anyOf, minimum, maximum }: SettingSchema): string {
  if (only !== undefined) return code(inline(only));
  if (choices !== undefined) return choices.map((choice) => code(inline(choice))).join(", ");
  if (expected !== undefined) return expected;
  if (anyOf !== undefined) return anyOf.map(expectation).join(", or ");
  const upper = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  switch (type) {
    case "integer":
    case "number": {
      if (minimum !== undefined && upper !== undefined) return `a number from ${minimum} to ${upper}`;
      return minimum === undefined ? "a number" : `a number of at least ${minimum}`;
    }
    case "boolean":
      return "`true` or `false`";
    case "array":
      return items?.properties ? "a list of objects" : `a list of ${items?.enum ? "field paths" : "texts"}`;
    case "object":
      return "names and values";
    case "string":
      return "text";
    default:
      return "any value";
  }
}

/** Splits `meaning; default 40s` into the meaning and the default. */
function splitDescription(description: string): { readonly meaning: string; readonly standard?: string } {
  const [, meaning, standard] = /^(.*?)[;,] default:? (\S.*)$/.exec(description) ?? [];
  return meaning === undefined || standard === undefined ? { meaning: description } : { meaning, standard };
}

function row({ path, schema, isRequired }: Setting, flag: Flag | undefined): string[] {
  const { meaning, standard } = splitDescription(schema.description ?? "");
  const hasDefault = schema.default !== undefined && JSON.stringify(schema.default) !== "[]";
  const fallback = hasDefault ? code(inline(schema.default)) : (flag?.default ?? standard ?? (isRequired ? undefined : "none"));
  const names = flag === undefined ? [] : [`--${flag.name}`, ...envNamesOf(flag)];
  return [
    [`**${code(path)}**`, ...names.map(code)].join("<br>"),
    [expectation(schema), fallback === undefined ? "required" : `default: ${fallback}`].join("<br>"),
    meaning,
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The reference: a heading and a table for each section. */
export function renderSettings(schema: SettingSchema, all: readonly Flag[] = flags): string {
  return [...bySection(settingsOf(schema))]
    .map(([heading, members]) => {
      const rows = members
        .filter(({ isGroup }) => !isGroup)
        .map((setting) =>
          row(
            setting,
            all.find(({ path, insteadUse }) => path === setting.path && insteadUse === undefined),
          ),
        );
      return `## ${heading}\n\n${table(["Setting; flag; variables", "Value", "What it sets"], rows)}`;
    })
    .join("\n\n");
}

/** An example's value: the default, or what the schema shows as an example. `undefined` if there is neither. */
function exampleOf({ const: only, default: standard, examples, example }: SettingSchema): unknown {
  return only ?? examples?.[0] ?? example ?? standard;
}

/** Settings that the example shows as comments: they cannot be set together with another one, or make many nodes of one. */
const shownAsComments: readonly string[] = ["nodes[].providerConfigFile", "nodes[].count"];

/**
 * A configuration file with every setting: its default, or an example if it has none. Each line has its meaning as a comment.
 *
 * @throws Error that names a setting with neither a default nor an example
 */
export function renderExampleFile(schema: SettingSchema, provider: string): string {
  return exampleLines(schema, "", provider).join("\n");
}

function exampleLines({ properties = {} }: SettingSchema, prefix: string, provider: string): string[] {
  return Object.entries(properties).flatMap(([name, inner]) => {
    const path = `${prefix}${name}`;
    const comment = inner.description === undefined ? [] : [`# ${inner.description}`];
    const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);
    if (inner.properties && exampleOf(inner) === undefined)
      return [...comment, `${name}:`, ...indented(exampleLines(inner, `${path}.`, provider))];
    if (inner.properties && JSON.stringify(exampleOf(inner)) === "{}")
      return [...comment, `${name}:`, ...indented(exampleLines(inner, `${path}.`, provider))];
    if (inner.items?.properties && exampleOf(inner) === undefined) {
      const [first = "", ...rest] = exampleLines(inner.items, `${path}[].`, provider);
      return [...comment, `${name}:`, `  - ${first}`, ...indented(indented(rest))];
    }
    const value = path === "nodes[].provider" ? provider : exampleOf(inner);
    if (value === undefined) {
      throw new Error(
        `${path}: expected a default or .meta({ examples: [...] }) in packages/cli/src/config/schema.ts, for the example file`,
      );
    }
    const lines = stringify({ [name]: value }, { lineWidth: 0 })
      .trimEnd()
      .split("\n");
    return [...comment, ...(shownAsComments.includes(path) ? lines.map((line) => `# ${line}`) : lines)];
  });
}
