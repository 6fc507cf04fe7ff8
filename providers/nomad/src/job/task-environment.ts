import { expand, type Container, type DeepReadonly, type ResolvedEnvVar } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { NomadTemplate } from "../api/types.ts";
import { InlineStore, type ItemStore } from "./variable-items.ts";

/** Environment and command line of a container in a task. */
export interface TaskEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly templates: readonly NomadTemplate[];
  /**
   * The words of the container's `command` or `args`. The client fills in confidential parts.
   *
   * @throws UnsupportedError for a NUL byte in a word
   */
  words(field: "command" | "args"): readonly string[];
}

/** Names that a client takes from a template. Source: hashicorp/go-envparse v0.1.0. */
const templateName = /^[A-Za-z_][A-Za-z0-9_./]*$/;

/**
 * Splits a container's environment into variables that the job may show and those from secrets and config maps.
 *
 * @param path - of the variable for the latter
 */
export function taskEnvironment(
  container: DeepReadonly<Container>,
  environment: readonly ResolvedEnvVar[],
  { store, path, fieldPath }: { readonly store: ItemStore; readonly path: string; readonly fieldPath: string },
): TaskEnvironment {
  const env = new Map<string, string>();
  const confidential: string[] = [];
  const literal: string[] = [];
  const inJob = new InlineStore();
  for (const { name, value } of environment) {
    const isHidden = isConfidential(container, name);
    // Nomad replaces `${NAME}` by its own variables, in names as well as in values.
    if (!isHidden && !`${name}${value}`.includes("${")) {
      env.set(name, value);
      continue;
    }
    if (!templateName.test(name)) {
      throw new UnsupportedError(
        `${fieldPath}.env: Nomad takes no variable named ${name} from a template; expected ${templateName.source}`,
        {
          fieldPath: `${fieldPath}.env`,
        },
      );
    }
    const place = `env/${container.name}/${name}`;
    if (isHidden) confidential.push(`${name}=${store.text(path, place, value)}`);
    else literal.push(`${name}=${inJob.text(path, place, value)}`);
  }
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const template = (file: string, lines: readonly string[]): NomadTemplate[] =>
    lines.length === 0
      ? []
      : [{ EmbeddedTmpl: `${lines.join("\n")}\n`, DestPath: `secrets/vk-${file}.env`, ChangeMode: "noop", Perms: "0400", Envvars: true }];
  return {
    env: Object.fromEntries(env),
    templates: [...template("confidential", confidential), ...template("literal", literal)],
    words: (field) =>
      (container[field] ?? []).map((raw, index) =>
        taskWord({ raw, fieldPath: `${fieldPath}.${field}[${index}]` }, values, (name) => isConfidential(container, name)),
      ),
  };
}

/** Escapes a text so that Nomad does not interpolate it. Source: HCL's template syntax. */
export function escapeInterpolation(text: string): string {
  // Functions, because `$$` in a replacement string stands for one dollar sign.
  return text.replaceAll("${", () => "$${").replaceAll("%{", () => "%%{");
}

/** As above for every text in a driver's configuration. Pods cannot choose its keys. */
export function escapeAll<T>(value: T): T {
  if (typeof value === "string") return escapeInterpolation(value) as T;
  if (Array.isArray(value)) return value.map((each: unknown) => escapeAll(each)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, escapeAll<unknown>(each)])) as T;
}

/** Encloses the name of a confidential variable until the rest is escaped. A word that holds one is refused. */
const mark = "\u0000";

interface RawWord {
  readonly raw: string;
  readonly fieldPath: string;
}

function taskWord({ raw, fieldPath }: RawWord, values: ReadonlyMap<string, string>, isHidden: (name: string) => boolean): string {
  const withoutMark = (text: string, what: string): string => {
    if (!text.includes(mark)) return text;
    throw new UnsupportedError(`${fieldPath}: a NUL byte in ${what}; expected a word without one, as programs end their words by it`, {
      fieldPath,
    });
  };
  const expanded = expand(withoutMark(raw, "the word"), (name) => {
    const value = values.get(name);
    if (value === undefined) return undefined;
    return isHidden(name) ? `${mark}${name}${mark}` : withoutMark(value, `the value of $(${name})`);
  });
  const parts = expanded.split(mark);
  return parts
    .map((part, index) => {
      if (index % 2 === 1) return `\${env["${part}"]}`;
      return index === parts.length - 1 ? escapeInterpolation(part) : withQuotedDollars(escapeInterpolation(part));
    })
    .join("");
}

/** The text with the dollar signs at its end as an expression: before `${` HCL would take them for an escape. */
function withQuotedDollars(text: string): string {
  // A regular expression would look at a long run of them once for each of its signs.
  let end = text.length;
  while (text[end - 1] === "$") end -= 1;
  return end === text.length ? text : `${text.slice(0, end)}\${"${text.slice(end)}"}`;
}

/** Whether a variable's value comes, or may come in part, from a secret or config map. */
function isConfidential({ env = [], envFrom = [] }: DeepReadonly<Container>, name: string): boolean {
  const variable = env.findLast((each) => each.name === name);
  if (!variable) return envFrom.length > 0;
  const { value, valueFrom } = variable;
  if (valueFrom) return !valueFrom.fieldRef && !valueFrom.resourceFieldRef;
  return value?.includes("$(") ?? false;
}
