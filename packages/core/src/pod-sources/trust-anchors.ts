const block = /-----BEGIN ([^-\n]+)-----\s*([A-Za-z0-9+/=\s]*?)\s*-----END \1-----/g;

/**
 * The certificates of some trust bundles, each once, as PEM without anything between them. The order says nothing, and
 * stays the same for the same certificates.
 * Source: normalizeTrustAnchors in kubernetes v1.36.3 pkg/kubelet/clustertrustbundle.
 */
export function mergeTrustAnchors(bundles: readonly string[]): string {
  const anchors = new Set<string>();
  for (const bundle of bundles) {
    for (const [, , body = ""] of bundle.matchAll(block)) anchors.add(body.replaceAll(/\s+/g, ""));
  }
  return [...anchors].sort().map(toPem).join("");
}

function toPem(base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
