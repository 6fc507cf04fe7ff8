import { expand, type Pod, type ResolvedPod, type VolumeFile } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { writeTags } from "@virtual-kubelet/remote-pods";
import type { AciConfig } from "../config/aci-config.ts";
import { aciConfigSchema } from "../config/schema.ts";
import { readSettings, type AciSettings } from "../config/settings.ts";
import { containerGroupOf, type GroupRequest } from "../group/container-group-of.ts";

export const testUid = "0a1b2c3d-0000-4000-8000-000000000000";

export const subnetId = "/subscriptions/sub-1/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/pods";

/** Minimal configuration. */
const baseConfig = { subscriptionId: "sub-1", resourceGroup: "pods", region: "westeurope" };

/** Parses a configuration on top of {@link baseConfig}. */
export function configOf(fields: object = {}): AciConfig {
  const parsed = aciConfigSchema.safeParse({ ...baseConfig, ...fields });
  if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
  return parsed.data;
}

/** Settings of {@link configOf}. */
export function settingsOf(fields: object = {}): AciSettings {
  return readSettings(configOf(fields));
}

type Container = NonNullable<Pod["spec"]>["containers"][number];

/** A pod named shop/web with one container, changed by the fields. */
export function podOf(spec: Partial<NonNullable<Pod["spec"]>> = {}, annotations: Record<string, string> = {}): Pod {
  return {
    metadata: { namespace: "shop", name: "web", uid: testUid, creationTimestamp: "2026-11-21T10:00:00Z", annotations },
    spec: { containers: [{ name: "main", image: "nginx:1.29" }], ...spec },
  };
}

/** A spec whose only container has these fields besides name and image. */
export function mainWith(fields: Partial<Container>): { containers: Container[] } {
  return { containers: [{ name: "main", image: "nginx:1.29", ...fields }] };
}

/** Content of a pod's references. */
export interface KnownContent {
  /** Values of variables with `valueFrom`, as `SOURCE/KEY`. */
  readonly values?: Readonly<Record<string, string>> | undefined;
  /** Variables of `envFrom`. */
  readonly from?: Readonly<Record<string, string>> | undefined;
  readonly files?: Readonly<Record<string, readonly VolumeFile[]>> | undefined;
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
}

/** Resolves a pod's references from known content. */
export function resolverOf({ spec }: Pod, { values = {}, from = {}, files = {}, secrets = {} }: KnownContent = {}): ResolvedPod {
  const find = (name: string): Container | undefined =>
    [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find((container) => container.name === name);
  const environment: ResolvedPod["environment"] = async (name) => {
    const variables = new Map(find(name)?.envFrom ? Object.entries(from) : []);
    for (const { name: key, value, valueFrom } of find(name)?.env ?? []) {
      const reference = valueFrom?.secretKeyRef ?? valueFrom?.configMapKeyRef;
      const text = reference ? (values[`${reference.name}/${reference.key}`] ?? "") : (value ?? "");
      variables.set(
        key,
        expand(text, (variable) => variables.get(variable)),
      );
    }
    return Array.from(variables, ([key, value]) => ({ name: key, value }));
  };
  const volume: ResolvedPod["volume"] = async (name) => ({ files: files[name] ?? [] });
  return {
    environment,
    commandLine: async (name) => ({ command: find(name)?.command ?? [], args: find(name)?.args ?? [] }),
    volume,
    async *watchVolume(name, signal) {
      yield await volume(name, signal);
    },
    configMap: async () => ({}),
    secret: async (name) => {
      const data = secrets[name];
      if (!data) throw new NotFoundError(`there is no secret ${name}`);
      const encode = (text: string): string => Buffer.from(text).toString("base64");
      return { metadata: { name }, data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, encode(value)])) };
    },
    serviceVariables: async () => [],
  };
}

/** A file of a volume. */
export function file(path: string, content: string, mode = 0o644): VolumeFile {
  return { path, mode, content: Buffer.from(content) };
}

/** Translates a pod with a configuration on top of {@link baseConfig}. */
export function groupOf(
  pod: Pod,
  { config = {}, known = {} }: { readonly config?: object; readonly known?: KnownContent } = {},
): Promise<GroupRequest> {
  const identity = {
    ref: { namespace: "shop", name: "web", uid: testUid },
    owner: { clusterId: "c-1", nodeName: "aci-1" },
    attempt: 0,
  };
  const context = {
    settings: settingsOf(config),
    nodeName: "aci-1",
    clusterDomain: "cluster.local",
    tags: writeTags(identity),
    registryEntries: [],
    kubeProxy: undefined,
  };
  return containerGroupOf(pod, resolverOf(pod, known), context, new AbortController().signal);
}
