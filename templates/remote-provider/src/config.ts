import { podPolicySchema, type PodPolicy, type PolicyAnnotation } from "@virtual-kubelet/core";
import { z } from "zod";

/** Settings of the provider, in the file of `--provider-config`. */
export interface Config {
  /** Base address of the API. */
  readonly address: string;
  readonly tokenFile?: string | undefined;
  /** Default region of jobs. */
  readonly region: string;
  /** Number of pods that the node accepts. */
  readonly pods: number;
  readonly pollIntervalSeconds: number;
  readonly timeoutSeconds: number;
  /** What pods may ask of their node. */
  readonly policy: PodPolicy;
}

/** Annotations with which a pod chooses how it runs. The policy must allow their values. */
export const regionAnnotation: PolicyAnnotation = { name: "jobs.example.com/region" };

/** Schema of the settings; the table in the README is generated from it. */
export const configSchema: z.ZodType<Config> = z.strictObject({
  address: z
    .url({ protocol: /^https?$/ })
    .default("http://127.0.0.1:8700")
    .describe("Base address of the API"),
  tokenFile: z.string().min(1).optional().describe("File that holds the API's token; read for each request"),
  region: z.string().min(1).default("local").describe(`Region of a pod without the annotation ${regionAnnotation.name}`),
  pods: z.int().min(1).default(20).describe("Number of pods that the node accepts"),
  pollIntervalSeconds: z.number().positive().default(5).describe("Seconds between lists of the jobs"),
  timeoutSeconds: z.number().positive().default(10).describe("Timeout of a request, in seconds"),
  policy: podPolicySchema([regionAnnotation]).default({}).describe("What pods may ask for beyond Kubernetes' baseline"),
});
