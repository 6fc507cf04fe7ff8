import { createRequire } from "node:module";
import type { Document, SchemaOptions } from "yaml";
import { once } from "../kinds/schema/once.ts";
import type { JsonValue } from "./json-value.ts";
import { duplicateKeys } from "./yaml-duplicates.ts";

/** Loaded with the first YAML body, because few clients send any. */
const loadedYaml = once(() => createRequire(import.meta.url)("yaml") as typeof import("yaml"));

/** A parsed YAML document. */
export interface ParsedYaml {
  readonly value: JsonValue;
  /** Keys that occur twice in a map, in the words of sigs.k8s.io/yaml; `undefined` if there are none. */
  readonly duplicates: string | undefined;
}

/**
 * Parses the first document of a YAML text as sigs.k8s.io/yaml does: YAML 1.1 without sexagesimal numbers and times. Integers are bigints.
 *
 * @throws Error of the library if the text is malformed
 */
export function parseYaml(text: string): ParsedYaml {
  const yaml = loadedYaml();
  const lineCounter = new yaml.LineCounter();
  const documents = yaml.parseAllDocuments(text, {
    version: "1.1",
    uniqueKeys: false,
    intAsBigInt: true,
    merge: true,
    lineCounter,
    customTags: kubernetesTags,
  });
  const [document]: readonly Document.Parsed[] = Array.isArray(documents) ? documents : [];
  if (document === undefined) return { value: null, duplicates: undefined };
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const problems = duplicateKeys({ yaml, document, lineCounter });
  return {
    value: document.toJS() as JsonValue,
    duplicates: problems.length === 0 ? undefined : `${strictErrors}${problems.map((problem) => `  ${problem}`).join("\n")}`,
  };
}

/** Beginning of the error of strict decoding; the problems follow, a line each. Source: go.yaml.in/yaml v2.4.3 yaml.go, `TypeError`. */
const strictErrors = "yaml: unmarshal errors:\n";

/**
 * Warnings about a problem of strict decoding: keys that occur twice in YAML are a warning each.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/rest.go, `parseYAMLWarnings`.
 */
export function strictWarnings(problem: string): string[] {
  if (!problem.startsWith(strictErrors)) return [problem];
  return problem
    .slice(strictErrors.length)
    .split("\n")
    .map((line) => line.trim());
}

type Tags = Parameters<Extract<NonNullable<SchemaOptions["customTags"]>, (...tags: never) => unknown>>[0];

/** Go's library knows neither numbers with base 60 nor dates. */
function kubernetesTags(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === "string" || !(("format" in tag && tag.format === "TIME") || tag.tag.endsWith(":timestamp")));
}
