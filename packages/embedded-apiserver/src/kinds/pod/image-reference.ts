const domainComponent = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `${domainComponent}(?:\\.${domainComponent})*(?::[0-9]+)?`;
const pathComponent = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const reference = new RegExp(
  `^(?:${domain}/)?${pathComponent}(?:/${pathComponent})*(?::(?<tag>\\w[\\w.-]{0,127}))?(?<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
);

/**
 * Default pull policy of an image: `Always` for the tag `latest` and for images without a tag.
 * Source: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go and pkg/util/parsers/parsers.go.
 */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const match = reference.exec(image);
  if (match === null) return "IfNotPresent";
  const tag = match.groups?.["tag"] ?? (match.groups?.["digest"] === undefined ? "latest" : "");
  return tag === "latest" ? "Always" : "IfNotPresent";
}
