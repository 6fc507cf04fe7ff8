import { z } from "zod";

/** How to reach the far cluster. */
export interface ConnectionConfig {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** Schema of the section `cluster`: how to reach the far cluster. */
export const connectionSchema: z.ZodType<ConnectionConfig> = z.strictObject({
  kubeconfig: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Kubeconfig of the far cluster; default: the variable FAR_KUBECONFIG. Never the home cluster's by accident: there is no other default",
    ),
  context: z.string().min(1).optional().describe("Context in the kubeconfig; default: its current context"),
});
