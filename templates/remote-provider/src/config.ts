import { podPolicySchema, type PodPolicy, type PolicyAnnotation } from "@virtual-kubelet/core";
import { z } from "zod";

/** What users configure, in the file of `--provider-config`. */
export interface Config {
  /** Base address of the API. */
  readonly address: string;
  readonly tokenFile?: string | undefined;
  /** Where jobs run whose pod does not choose. */
  readonly region: string;
  /** How many pods the node takes. */
  readonly pods: number;
  readonly pollIntervalSeconds: number;
  readonly timeoutSeconds: number;
  /** What pods may ask of their node. */
  readonly policy: PodPolicy;
}

/** Annotations by which a pod chooses how it is run. The policy must allow their values. */
export const regionAnnotation: PolicyAnnotation = { name: "jobs.example.com/region" };

/** Reads the configuration; the table in the README is generated from it. */
export const configSchema: z.ZodType<Config> = z.strictObject({
  address: z
    .url({ protocol: /^https?$/ })
    .default("http://127.0.0.1:8700")
    .describe("Base address of the API"),
  tokenFile: z.string().min(1).optional().describe("File that holds the API's token; read for each request"),
  region: z.string().min(1).default("local").describe(`Region of a pod without the annotation ${regionAnnotation.name}`),
  pods: z.int().min(1).default(20).describe("How many pods the node takes"),
  pollIntervalSeconds: z.number().positive().default(5).describe("Seconds between two lists of the jobs"),
  timeoutSeconds: z.number().positive().default(10).describe("Seconds until a request counts as unanswered"),
  policy: podPolicySchema([regionAnnotation]).default({}).describe("What pods may ask for beyond Kubernetes' baseline"),
});
