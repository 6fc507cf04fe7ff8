import { z } from "zod";

/** How to reach the far cluster. */
export interface ConnectionConfig {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

const context = z.string().min(1).optional().describe("Context in the kubeconfig; default: its current context");

/** Schema of the section `cluster`: how to reach the far cluster. */
export const connectionSchema: z.ZodType<ConnectionConfig> = z.strictObject({
  kubeconfig: z.string().min(1).optional().meta({
    env: "FAR_KUBECONFIG",
    description: "Kubeconfig of the far cluster. There is no default, so that the home cluster is never used by accident",
  }),
  context,
});

/** Schema of a connection to the home cluster; the environment never sets it. */
export const homeConnectionSchema: z.ZodType<ConnectionConfig> = z.strictObject({
  kubeconfig: z.string().min(1).optional().describe("Kubeconfig of the home cluster"),
  context,
});
