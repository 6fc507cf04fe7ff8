import type { Kind } from "../kind.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/core/v1/{defaults,conversion}.go. */
export const secretKind: Kind = {
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  singular: "secret",
  namespaced: true,
  schema: "io.k8s.api.core.v1.Secret",
  applyDefaults(secret) {
    secret["type"] ??= "Opaque";
    const texts: Record<string, string> | undefined = secret["stringData"];
    if (texts === undefined) return;
    const encoded = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
    secret["data"] = { ...secret["data"], ...Object.fromEntries(encoded) };
    delete secret["stringData"];
  },
  fieldSelectors: { type: (secret) => secret["type"] ?? "" },
};
