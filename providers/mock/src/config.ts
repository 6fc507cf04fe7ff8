import { podPolicySchema, type ConfigSchema, type PodPolicy } from "@virtual-kubelet/core";
import { z } from "zod";
import { PodAddresses } from "./pod/pod-addresses.ts";
import { scriptFields, scriptKeys, type MockScriptSettings } from "./script/script-fields.ts";

/** Capacity of the mock's node. Amounts are Kubernetes quantities. */
export interface MockNodeConfig {
  /** Default: `20`. */
  readonly cpu?: string | undefined;
  /** Default: `100Gi`. */
  readonly memory?: string | undefined;
  /** Default: `20`. */
  readonly pods?: string | undefined;
  /** Default: `100Gi`. */
  readonly ephemeralStorage?: string | undefined;
  /** Further resources by name, such as `nvidia.com/gpu`. */
  readonly others?: Readonly<Record<string, string>> | undefined;
  /** The node's `spec.providerID`. */
  readonly providerID?: string | undefined;
  /**
   * IPv4 range of pod addresses, `/8` to `/30`. The nodes of a process share it. After a restart, a node that starts first can give out an
   * address that a pod of another node keeps, unless their ranges, or the numbers at the end of their names, differ. Default: `10.88.0.0/13`.
   */
  readonly podCIDR?: string | undefined;
}

/** Selects pods; an absent field matches all. */
export interface MockStageMatch {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** Labels that the pod must have. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Script for the matching pods. A pod's annotations override it. */
export interface MockStage {
  readonly match: MockStageMatch;
  readonly script: MockScriptSettings;
  /** Scripts of single containers, by name; they override the stage's own. */
  readonly containers: Readonly<Record<string, MockScriptSettings>>;
}

/** The parsed configuration. */
export interface MockConfig {
  /** Settings of all nodes, which those in {@link nodes} override. */
  readonly node: MockNodeConfig;
  readonly nodes: Readonly<Record<string, MockNodeConfig>>;
  /** The first stage that matches a pod is its script. */
  readonly stages: readonly MockStage[];
  /** What pods may ask of the node, as of one that runs them. Default: everything. */
  readonly policy?: PodPolicy | undefined;
}

/** {@link MockNodeConfig} with defaults applied. */
export type ResolvedMockNodeConfig = {
  readonly [Key in Exclude<keyof MockNodeConfig, "providerID">]-?: NonNullable<MockNodeConfig[Key]>;
} & {
  readonly providerID: string | undefined;
};

const quantityPattern = /^(\d+\.?\d*|\.\d+)(m|k|[MGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;
const notAQuantity = { error: "expected a quantity such as 20, 500m or 100Gi" };
const quantity = z
  .union([z.string().regex(quantityPattern, notAQuantity), z.number().nonnegative(notAQuantity)], notAQuantity)
  .transform(String);

const nodeShape = {
  cpu: quantity.optional().describe("CPUs of the node; default 20"),
  memory: quantity.optional().describe("Memory of the node; default 100Gi"),
  pods: quantity.optional().describe("Number of pods that the node accepts; raise it for large tests; default 20"),
  ephemeralStorage: quantity.optional().describe("Disk of the node; default 100Gi"),
  others: z.record(z.string(), quantity).optional().describe("Further resources by name, such as nvidia.com/gpu"),
  providerID: z.string().optional().describe("The node's spec.providerID"),
  podCIDR: z
    .string()
    .refine((text) => PodAddresses.isRange(text), { error: "expected an IPv4 range from /8 to /30, such as 10.88.0.0/16" })
    .optional()
    .describe(
      "IPv4 range of pod addresses, /8 to /30, which the nodes of a program share; nodes of several programs, and those of one program that restarts, need different ranges, or names that end in different numbers, at most 2,047 in the default range and with at most 254 pods a node, if their addresses must differ; default 10.88.0.0/13",
    ),
};
const nodeSchema: z.ZodType<MockNodeConfig> = z.strictObject(nodeShape);

const scriptShape = Object.fromEntries(
  scriptKeys.map((key) => {
    const { option, expected, help, parse } = scriptFields[key];
    const written = z.union([z.string(), z.number(), z.boolean()], { error: `expected ${expected}` });
    const parsed = written.transform((value, context) => {
      const result = parse(String(value));
      if (result === undefined) context.addIssue({ code: "custom", message: `expected ${expected}`, input: value });
      return result;
    });
    return [option, parsed.optional().describe(`${expected}: ${help}`)];
  }),
);
const toScript = (written: Readonly<Record<string, unknown>>): MockScriptSettings =>
  Object.fromEntries(scriptKeys.map((key) => [key, written[scriptFields[key].option]]).filter(([, value]) => value !== undefined));

const containerSchema = z
  .strictObject(scriptShape)
  .transform(toScript)
  .refine(({ fail }) => fail !== "provider-error" && fail !== "terminal-error", {
    path: ["fail"],
    error: "only for a whole pod; expected image-pull-error or create-error",
  });

const stageSchema = z
  .strictObject({
    match: z
      .strictObject({
        namespace: z.string().optional().describe("The pod's namespace"),
        name: z.string().optional().describe("The pod's name"),
        labels: z.record(z.string(), z.string()).optional().describe("Labels that the pod has, with these values"),
      })
      .optional()
      .describe("Selects pods; default all"),
    ...scriptShape,
    containers: z.record(z.string(), containerSchema).optional().describe("Scripts of single containers, by name"),
  })
  .transform(({ match, containers, ...written }): MockStage => ({
    match: match ?? {},
    script: toScript(written),
    containers: containers ?? {},
  }));

const flatSchema = z
  .strictObject({
    ...nodeShape,
    nodes: z
      .record(z.string(), nodeSchema)
      .optional()
      .describe("The keys above for single nodes, by name; missing keys are taken from the top level"),
    stages: z.array(stageSchema).optional().describe("Scripts for pods; the first one that matches applies"),
    policy: podPolicySchema()
      .optional()
      .describe("What pods may ask of the node, as on a node that runs them; {} allows what other providers allow; default: everything"),
  })
  .transform(({ nodes, stages, policy, ...node }): MockConfig => ({ node, nodes: nodes ?? {}, stages: stages ?? [], policy }));

const byNodeSchema = z.record(z.string(), nodeSchema).transform((nodes): MockConfig => ({ node: {}, nodes, stages: [] }));

const flatKeys: ReadonlySet<string> = new Set([...Object.keys(nodeShape), "nodes", "stages", "policy"]);

/**
 * Schema of both forms of the configuration: the flat one, and upstream's, an object of nodes by name.
 *
 * Source of the second form: virtual-kubelet v1.13 cmd/virtual-kubelet/internal/provider/mock (7b1385b). A node that it does not name gets
 * the defaults here, and is an error there.
 */
export const mockConfigSchema: ConfigSchema<MockConfig> = {
  safeParse: (input) => (isByNode(input) ? byNodeSchema : flatSchema).safeParse(input ?? {}),
  toJSONSchema: () => z.toJSONSchema(flatSchema, { io: "input" }),
};

/** Configuration of one node, with upstream's defaults. */
export function nodeConfigOf(config: MockConfig, nodeName: string): ResolvedMockNodeConfig {
  const own = config.nodes[nodeName] ?? {};
  const pick = <Key extends keyof MockNodeConfig>(key: Key): MockNodeConfig[Key] => own[key] ?? config.node[key];
  return {
    cpu: pick("cpu") ?? "20",
    memory: pick("memory") ?? "100Gi",
    pods: pick("pods") ?? "20",
    ephemeralStorage: pick("ephemeralStorage") ?? "100Gi",
    others: pick("others") ?? {},
    providerID: pick("providerID"),
    podCIDR: pick("podCIDR") ?? "10.88.0.0/13",
  };
}

function isByNode(input: unknown): boolean {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return false;
  const entries = Object.entries(input);
  return entries.length > 0 && entries.every(([key, value]) => !flatKeys.has(key) && typeof value === "object" && value !== null);
}
