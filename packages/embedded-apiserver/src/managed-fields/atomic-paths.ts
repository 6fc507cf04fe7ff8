import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import { type MergeType, typeOfValue } from "./merge-type.ts";

/**
 * Paths of the atomic lists and objects of a value, such as `.spec.selector`. Keys of maps are not looked into.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/mutating/patch/smd.go, `findAtomics`.
 */
export function atomicPaths(type: MergeType, value: JsonValue, path: string = ""): string[] {
  const { map, list } = typeOfValue(type, value);
  if (isJsonObject<JsonValue>(value) && map !== undefined)
    return [
      ...(map.isAtomic ? [path] : []),
      ...Object.entries(value).flatMap(([name, member]) => {
        const field = map.field(name);
        return field === undefined ? [] : atomicPaths(field.type(), member, `${path}.${name}`);
      }),
    ];
  if (Array.isArray(value) && list !== undefined)
    return [...(list.isAtomic ? [path] : []), ...value.flatMap((item, index) => atomicPaths(list.items(), item, `${path}[${index}]`))];
  return [];
}
