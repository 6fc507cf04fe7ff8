import type { Kind } from "../kinds/kind.ts";
import { duplicateField, duplicateFields, problemsInOrder, unknownField } from "../kinds/schema/duplicate-fields.ts";
import { isProtobuf } from "../kinds/schema/protobuf.ts";
import { parseYaml } from "../json/yaml.ts";
import type { ApiRequest } from "./api-request.ts";

const decoder = new TextDecoder();

/** Source: sigs.k8s.io/json internal/golang/encoding/json/kubernetes_patch.go, `saveStrictError`. */
const maxProblems = 100;

/**
 * Problems of strict decoding in the order in which the real server finds them.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/runtime/serializer/json/json.go, k8s.io/apiextensions-apiserver pkg/apiserver for custom resources,
 * and k8s.io/apiserver pkg/endpoints/handlers/patch.go for patches: there, the patch is read first, and then the patched object.
 *
 * @param unknown - paths of unknown fields
 */
export function strictProblems(
  { method, headers, body }: Pick<ApiRequest, "method" | "headers" | "body">,
  kind: Pick<Kind, "custom">,
  unknown: readonly string[],
): string[] {
  const unknownFields = unknown.map(unknownField);
  if (isProtobuf(body) || body.length === 0) return unknownFields;
  const text = decoder.decode(body);
  if (headers["content-type"]?.includes("yaml") === true) {
    // The body of a server-side apply is checked where it is parsed.
    const { duplicates } = method === "PATCH" ? {} : parseYaml(text);
    return duplicates === undefined ? unknownFields : [duplicates, ...unknownFields];
  }
  const duplicates = duplicateFields(text);
  if (duplicates.length === 0) return unknownFields.slice(0, maxProblems);
  const isSeparate = method === "PATCH" || kind.custom !== undefined || unknown.length === 0;
  const problems = isSeparate
    ? [...new Set(duplicates.map(duplicateField)), ...unknownFields]
    : problemsInOrder(text, { duplicates, unknown });
  return problems.slice(0, maxProblems);
}
