import { z } from "zod";

const namespaceName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, "expected a namespace of Kubernetes, such as team-a");

/** In which far namespaces pods run. */
export type NamespacesConfig =
  | { readonly mode: "one"; readonly name?: string | undefined }
  | { readonly mode: "same"; readonly create: boolean }
  | { readonly mode: "prefix"; readonly prefix: string; readonly create: boolean };

/** Schema of the section `namespaces`: in which far namespaces pods run. */
export const namespacesSchema: z.ZodType<NamespacesConfig> = z.discriminatedUnion(
  "mode",
  [
    z.strictObject({
      mode: z.literal("one").describe("All pods run in one far namespace, so that a Role there is enough"),
      name: namespaceName.optional().describe("The far namespace; default: the context's in the kubeconfig, or default"),
    }),
    z.strictObject({
      mode: z.literal("same").describe("A pod runs in the far namespace of the same name"),
      create: z.boolean().default(false).describe("Creates missing far namespaces; default false"),
    }),
    z.strictObject({
      mode: z.literal("prefix").describe("A pod runs in the far namespace with this prefix and the name of its own"),
      prefix: z
        .string()
        .regex(/^[a-z0-9]([-a-z0-9]{0,40})$/, "expected the beginning of a namespace's name, such as home-")
        .describe("Beginning of the far namespaces' names, such as home-"),
      create: z.boolean().default(false).describe("Creates missing far namespaces; default false"),
    }),
  ],
  "expected one, same or prefix",
);
