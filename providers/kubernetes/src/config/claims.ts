import { z } from "zod";

/** Volumes for claims. */
export interface ClaimsConfig {
  readonly provisioner: string;
  readonly storageClasses: Readonly<Record<string, string>>;
}

/** Schema of the section `claims`: volumes for claims. */
export const claimsSchema: z.ZodType<ClaimsConfig> = z.strictObject({
  provisioner: z
    .string()
    .min(1)
    .default("kubernetes.virtual-kubelet.io")
    .describe("Provisioner in StorageClasses of the home cluster whose volumes are claims in the far cluster"),
  storageClasses: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      "Storage classes of the far cluster by those of home; without an entry: the parameter storageClassName of the home class, or the far default",
    ),
});
