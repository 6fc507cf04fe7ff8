// Run and type-checked in a project outside the workspace, whose zod is another version than core's.
import { ObjectReader, podPolicySchema, type ConfigSchema, type PodPolicy } from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { createRequire } from "node:module";
import { z } from "zod";

interface Config {
  readonly region: string;
  readonly policy?: PodPolicy | undefined;
}

const schema = z.strictObject({ region: z.string().default("here"), policy: podPolicySchema().optional() });
export const configSchema: ConfigSchema<Config> = schema;
// @ts-expect-error: the schema has no `zone`.
export const otherSchema: ConfigSchema<{ zone: string }> = schema;

const reader = new ObjectReader<"job">({ logger: silentLogger, metrics: noMetrics, backEnd: "Far", idOf: () => undefined });
const job: { id: string } | undefined = reader.read("job", z.object({ id: z.string() }), { id: "a" });

const good = configSchema.safeParse({ policy: { privileged: true } });
const bad = configSchema.safeParse({ policy: { privileged: 3 } });
const settings = JSON.stringify(configSchema.toJSONSchema?.({ io: "input" }));
const versionSeenFrom = (url: string): string => (createRequire(url)("zod/package.json") as { version: string }).version;
console.log(
  JSON.stringify({
    job,
    good: good.success && good.data,
    bad: !bad.success && bad.error.issues.map(({ path }) => path.join(".")),
    hasSettings: settings.includes("Allows privileged containers"),
    zod: versionSeenFrom(import.meta.url),
    zodOfCore: versionSeenFrom(import.meta.resolve("@virtual-kubelet/core")),
  }),
);
