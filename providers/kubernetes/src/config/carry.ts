import { z } from "zod";

const patterns = z.array(z.string().min(1));

const objectPatterns = z.array(
  z.string().regex(/^[^/]+(\/[^/]+)?$/, "expected a pattern NAME or NAMESPACE/NAME, such as registry-* or team-a/*"),
);

/** What travels with a pod. */
export interface CarryConfig {
  readonly labels: { readonly prefix?: string | undefined; readonly exclude: readonly string[] };
  readonly annotations: { readonly exclude: readonly string[] };
  readonly configMaps: readonly string[];
  readonly secrets: readonly string[];
  readonly serviceAccountToken: "drop" | "home" | "far";
  readonly farServiceAccount?: string | undefined;
}

/** Schema of the section `carry`: what travels with a pod. A `*` in a pattern matches any characters. */
export const carrySchema: z.ZodType<CarryConfig> = z.strictObject({
  labels: z
    .strictObject({
      prefix: z
        .string()
        .regex(/^[a-z0-9]([-a-z0-9.]{0,200}[a-z0-9])?\/$/, "expected a DNS name and a slash, such as home.example.com/")
        .optional()
        .describe("Prefix of carried labels, such as home.example.com/; default: none, so that selectors match in the far cluster"),
      exclude: patterns.default([]).describe("Labels that stay at home, by pattern"),
    })
    .prefault({})
    .describe("The pods' labels"),
  annotations: z
    .strictObject({
      exclude: patterns
        .default(["kubectl.kubernetes.io/last-applied-configuration", "cni.projectcalico.org/*", "k8s.v1.cni.cncf.io/*"])
        .describe("Annotations that stay at home, by pattern"),
    })
    .prefault({})
    .describe("The pods' annotations"),
  configMaps: objectPatterns
    .default(["*"])
    .describe(
      "Config maps that are copied for the pods that use them, by pattern NAME or NAMESPACE/NAME; default: all. kube-root-ca.crt always is",
    ),
  secrets: objectPatterns
    .default(["*"])
    .describe(
      "Secrets that are copied for the pods that use them, image pull secrets too, by pattern NAME or NAMESPACE/NAME; default: all",
    ),
  serviceAccountToken: z
    .enum(["drop", "home", "far"])
    .default("drop")
    .describe(
      "The token that Kubernetes mounts into every pod: none (drop), that of the home cluster, for pods that call its API (home), or the far cluster's own (far). Tokens for other audiences, which a pod's volumes name, always come from the home cluster",
    ),
  farServiceAccount: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, "expected the name of a service account, such as runner")
    .optional()
    .describe("Service account of the far pods; default: the far namespace's default. With serviceAccountToken far its token is mounted"),
});
