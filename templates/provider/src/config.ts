import { z } from "zod";

/** Settings of the provider, in the file of `--provider-config`. */
export interface Config {
  /** Number of pods that the node accepts. */
  readonly pods: number;
}

/** Schema of the settings; the table in the README is generated from it. */
export const configSchema: z.ZodType<Config> = z.strictObject({
  pods: z.int().min(1).default(20).describe("Number of pods that the node accepts"),
});
