import type { Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { secretErrors } from "./validate-data.ts";

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
  validate: secretErrors,
  columns: [
    nameColumn,
    {
      name: "Type",
      type: "string",
      description:
        "Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
      cell: (secret) => secret["type"] ?? "",
    },
    {
      name: "Data",
      type: "string",
      description:
        "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
      cell: (secret) => Object.keys(secret["data"] ?? {}).length,
    },
    ageColumn,
  ],
};
