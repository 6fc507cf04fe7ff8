import { z } from "zod";

/** What users configure, in the file of `--provider-config`. */
export interface Config {
  /** How many pods the node takes. */
  readonly pods: number;
}

/** Reads the configuration; the table in the README follows from it. */
export const configSchema: z.ZodType<Config> = z.strictObject({
  pods: z.int().min(1).default(20).describe("How many pods the node takes"),
});
