const domainComponent = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `${domainComponent}(?:\\.${domainComponent})*(?::[0-9]+)?`;
const pathComponent = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const reference = new RegExp(
  `^(?:${domain}/)?${pathComponent}(?:/${pathComponent})*(?::(?<tag>\\w[\\w.-]{0,127}))?(?<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
);

/**
 * The pull policy of an image whose owner did not say: `Always` for the tag `latest`, also if it is left out.
 * Source: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go and pkg/util/parsers/parsers.go.
 */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  const match = reference.exec(image);
  if (match === null) return "IfNotPresent";
  const tag = match.groups?.["tag"] ?? (match.groups?.["digest"] === undefined ? "latest" : "");
  return tag === "latest" ? "Always" : "IfNotPresent";
}
