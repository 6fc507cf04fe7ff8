/** Maximum length of a field manager's name in bytes. */
export const fieldManagerLimitBytes = 128;

/**
 * Name of a request's field manager: the query's, or the first part of the user agent, such as `kubectl` of `kubectl/v1.36.3`.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/create.go, `managerOrUserAgent`.
 */
export function fieldManagerOf(query: URLSearchParams, userAgent = ""): string {
  const given = query.get("fieldManager") ?? "";
  if (given !== "") return given;
  let name = "";
  for (const character of userAgent.split("/", 1)[0] ?? "") {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) continue;
    if (Buffer.byteLength(name + character) > fieldManagerLimitBytes) break;
    name += character;
  }
  return name;
}
