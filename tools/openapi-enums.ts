/** Values that a field may have, and its description with their meanings. */
export interface FieldEnum {
  readonly values: readonly string[];
  /** Whether the field is a list or a map of such values. */
  readonly ofMembers: boolean;
  readonly description: string;
}

/** Definitions by the beginning of their Go function. */
const definitionPrefixes: readonly (readonly [go: RegExp, definition: string])[] = [
  [/^k8sio_api_(\w+)_(v\d+)_/, "io.k8s.api.$1.$2."],
  [/^pkg_apis_apiextensions_(v\d+)_/, "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.$1."],
];

/**
 * Reads the enumerated fields of Kubernetes' `pkg/generated/openapi/zz_generated.openapi.go`. The documents in its source tree are made
 * without them, but the API server serves them.
 *
 * @returns fields by name, by definition such as `io.k8s.api.apps.v1.DeploymentStrategy`
 */
export function readEnums(source: string): ReadonlyMap<string, ReadonlyMap<string, FieldEnum>> {
  const found = new Map<string, Map<string, FieldEnum>>();
  let definition = "";
  let field = "";
  let description = "";
  for (const line of source.split("\n")) {
    const [, name] = /^func schema_(\w+)\(/.exec(line) ?? [];
    if (name !== undefined) definition = definitionOf(name);
    field = /^\t{5}"([^"]+)": \{$/.exec(line)?.[1] ?? field;
    const [, text] = /^\t{7}Description: (".*"),$/.exec(line) ?? [];
    if (text !== undefined) description = JSON.parse(text) as string;
    const [, indent = "", values] = /^(\t+)Enum: +\[\]interface\{\}\{(.*)\},$/.exec(line) ?? [];
    if (values === undefined || definition === "") continue;
    const fields = found.get(definition) ?? new Map<string, FieldEnum>();
    found.set(definition, fields);
    fields.set(field, { values: JSON.parse(`[${values}]`) as string[], ofMembers: indent.length > 7, description });
  }
  return found;
}

/** Name of a definition; empty for those of other groups. */
function definitionOf(goName: string): string {
  const [go, definition] = definitionPrefixes.find(([pattern]) => pattern.test(goName)) ?? [];
  return go === undefined || definition === undefined ? "" : goName.replace(go, definition);
}
