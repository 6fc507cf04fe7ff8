const maxNameLength = 63;
const maxPrefixLength = 253;
const namePattern = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const subdomainPattern = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/**
 * Whether the API server accepts the text as the key of a label or taint, the name of a resource or the type of a condition: at most 63
 * characters, after an optional DNS subdomain and `/`.
 * Source: IsQualifiedName in k8s.io/apimachinery v0.36.3 pkg/util/validation/validation.go.
 */
export function isQualifiedName(text: string): boolean {
  const [name = "", prefix, ...rest] = text.split("/").toReversed();
  if (rest.length > 0 || name.length > maxNameLength || !namePattern.test(name)) return false;
  return prefix === undefined || (prefix.length <= maxPrefixLength && subdomainPattern.test(prefix));
}

/**
 * Whether the API server accepts the text as the value of a label or taint.
 * Source: IsValidLabelValue in k8s.io/apimachinery v0.36.3 pkg/util/validation/validation.go.
 */
export function isLabelValue(text: string): boolean {
  return text === "" || (text.length <= maxNameLength && namePattern.test(text));
}
