import type { Pod, ResolvedPod, VolumePayload } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { PodIdentity } from "@virtual-kubelet/remote-pods";
import { fargateConfigSchema, type FargateConfig } from "../config/schema.ts";

/** Owner of the tests' objects. */
export const owner = { clusterId: "c1", nodeName: "fargate-1.example" };
/** The tests' pod. */
export const ref = { namespace: "shop", name: "web.v1", uid: "0a1b2c3d-0000-4000-8000-000000000000" };
export const identity: PodIdentity = { ref, owner, attempt: 0 };

/** Roles and secrets of the tests. */
export const arns = {
  taskRole: "arn:aws:iam::123456789012:role/web",
  executionRole: "arn:aws:iam::123456789012:role/ecs",
  password: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf:password::",
};

/** Parses a configuration. @throws if it is wrong */
export function configOf(config: object = {}): FargateConfig {
  const parsed = fargateConfigSchema.safeParse({ region: "eu-west-1", subnets: ["subnet-1"], ...config });
  if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
  return parsed.data;
}

/** Returns the tests' pod. */
export function podOf(spec: NonNullable<Pod["spec"]>, annotations: Record<string, string> = {}): Pod {
  return { metadata: { ...ref, annotations }, spec };
}

/** Content of the cluster, as far as pods refer to it. */
export interface Cluster {
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly volumes?: Readonly<Record<string, VolumePayload>>;
  readonly claims?: Readonly<Record<string, Awaited<ReturnType<NonNullable<ResolvedPod["claimedVolume"]>>>>>;
}

type EnvSource = NonNullable<NonNullable<NonNullable<Pod["spec"]>["containers"][number]["env"]>[number]["valueFrom"]>;

/** Resolves a pod's references as the core does, for literal values, field references of the name and keys of secrets. */
export function resolverOf(pod: Pod, { secrets = {}, volumes = {}, claims = {} }: Cluster = {}): ResolvedPod {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const find = (name: string): NonNullable<Pod["spec"]>["containers"][number] | undefined => containers.find((each) => each.name === name);
  const environment = async (name: string): Promise<{ name: string; value: string }[]> => {
    const values = new Map<string, string>();
    for (const { secretRef, prefix = "" } of find(name)?.envFrom ?? [])
      for (const [key, value] of Object.entries(secrets[secretRef?.name ?? ""] ?? {})) values.set(`${prefix}${key}`, value);
    for (const variable of find(name)?.env ?? []) {
      const value = valueOf(variable);
      if (value !== undefined) values.set(variable.name, expand(value, values));
    }
    return [...values].map(([key, value]) => ({ name: key, value }));
  };
  const valueOf = ({ value = "", valueFrom }: { value?: string | undefined; valueFrom?: EnvSource | undefined }): string | undefined => {
    const { secretKeyRef, fieldRef } = valueFrom ?? {};
    if (fieldRef) return pod.metadata?.name;
    return secretKeyRef ? secrets[secretKeyRef.name ?? ""]?.[secretKeyRef.key] : value;
  };
  return {
    environment,
    async commandLine(name) {
      const values = new Map((await environment(name)).map((each) => [each.name, each.value]));
      const all = (texts: readonly string[] = []): string[] => texts.map((text) => expand(text, values));
      return { command: all(find(name)?.command), args: all(find(name)?.args) };
    },
    async volume(name) {
      return volumes[name] ?? { files: [] };
    },
    async *watchVolume(name) {
      yield volumes[name] ?? { files: [] };
    },
    async claimedVolume(name) {
      const claim = claims[name];
      if (!claim) throw new NotFoundError(`claim ${name}`);
      return claim;
    },
    configMap: async () => ({}),
    async secret(name) {
      const data = secrets[name];
      if (!data) throw new NotFoundError(`secret ${name}`);
      return { data: { ...data } };
    },
    serviceVariables: async () => [],
  };
}

function expand(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\(([^)]+)\)/g, (reference, name: string) => values.get(name) ?? reference);
}
