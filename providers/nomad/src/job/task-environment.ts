import { expand, type Container, type DeepReadonly, type ResolvedEnvVar } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { NomadTemplate } from "../api/types.ts";
import { InlineBook, type ItemBook } from "./variable-items.ts";

/** A container's environment and words, as a task takes them. */
export interface TaskEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly templates: readonly NomadTemplate[];
  /** What the words of a command come to; what is confidential in them is put in by the client. */
  words(raw: readonly string[], fieldPath: string): readonly string[];
}

/** Names that a client takes from a template. Source: hashicorp/go-envparse v0.1.0. */
const templateName = /^[A-Za-z_][A-Za-z0-9_./]*$/;

/**
 * Divides a container's environment into what may be read in the job, and what comes from secrets and config maps.
 *
 * @param path - of the variable for the latter
 */
export function taskEnvironment(
  container: DeepReadonly<Container>,
  environment: readonly ResolvedEnvVar[],
  { book, path, fieldPath }: { readonly book: ItemBook; readonly path: string; readonly fieldPath: string },
): TaskEnvironment {
  const env: Record<string, string> = {};
  const confidential: string[] = [];
  const literal: string[] = [];
  const inJob = new InlineBook();
  for (const { name, value } of environment) {
    const isHidden = isConfidential(container, name);
    // Nomad would put its own variables in for `${NAME}`, in names as in values.
    if (!isHidden && !`${name}${value}`.includes("${")) {
      env[name] = value;
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
    if (isHidden) confidential.push(`${name}=${book.text(path, place, value)}`);
    else literal.push(`${name}=${inJob.text(path, place, value)}`);
  }
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const template = (file: string, lines: readonly string[]): NomadTemplate[] =>
    lines.length === 0
      ? []
      : [{ EmbeddedTmpl: `${lines.join("\n")}\n`, DestPath: `secrets/vk-${file}.env`, ChangeMode: "noop", Perms: "0400", Envvars: true }];
  return {
    env,
    templates: [...template("confidential", confidential), ...template("literal", literal)],
    words: (raw) => raw.map((word) => taskWord(word, values, (name) => isConfidential(container, name))),
  };
}

/** Text that Nomad leaves as it is, where it would put in variables. Source: HCL's template syntax. */
export function escapeInterpolation(text: string): string {
  // As texts, the replacements would lose a dollar sign.
  return text.replaceAll("${", () => "$${").replaceAll("%{", () => "%%{");
}

/** The same for every text in a driver's configuration. Keys are never a pod's to choose. */
export function escapeAll<T>(value: T): T {
  if (typeof value === "string") return escapeInterpolation(value) as T;
  if (Array.isArray(value)) return value.map((each: unknown) => escapeAll(each)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, escapeAll<unknown>(each)])) as T;
}

/** Stands for a confidential value until the rest is escaped; no word holds it. */
const mark = "\u0000";

function taskWord(raw: string, values: ReadonlyMap<string, string>, isHidden: (name: string) => boolean): string {
  const expanded = expand(raw, (name) => (values.has(name) && isHidden(name) ? `${mark}${name}${mark}` : values.get(name)));
  return expanded
    .split(mark)
    .map((part, index) => (index % 2 === 0 ? escapeInterpolation(part) : `\${env["${part}"]}`))
    .join("");
}

/** Whether a variable's value is, or may be made of, what a secret or config map says. */
function isConfidential({ env = [], envFrom = [] }: DeepReadonly<Container>, name: string): boolean {
  const variable = env.findLast((each) => each.name === name);
  if (!variable) return envFrom.length > 0;
  const { value, valueFrom } = variable;
  if (valueFrom) return !valueFrom.fieldRef && !valueFrom.resourceFieldRef;
  return value?.includes("$(") ?? false;
}
