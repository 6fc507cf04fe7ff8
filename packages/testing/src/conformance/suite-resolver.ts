import type { Container, DeepReadonly, EnvVar, Pod, ResolvedEnvVar, ResolvedPod, VolumeFile, VolumePayload } from "@virtual-kubelet/core";
import { InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";
import type { Fixtures } from "./fixtures.ts";

type KeyRef = { readonly name?: string | undefined; readonly key: string; readonly optional?: boolean | undefined };

/** Resolves the references that the suite's pods use: values, keys of secrets and config maps, pod fields, whole volumes. */
export function resolveForSuite(pod: DeepReadonly<Pod>, fixtures: Fixtures): ResolvedPod {
  const namespace = pod.metadata?.namespace ?? "default";
  const dataOf = (kind: "secret" | "configMap", name: string): ReadonlyMap<string, string> | undefined => {
    if (kind === "configMap") return toMap(fixtures.configMaps.get(`${namespace}/${name}`)?.data);
    const data = fixtures.secrets.get(`${namespace}/${name}`)?.data;
    return data && new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]));
  };
  const valueOf = (kind: "secret" | "configMap", { name = "", key, optional }: KeyRef): string | undefined => {
    const value = dataOf(kind, name)?.get(key);
    if (value === undefined && !optional) throw new InvalidInputError(`${kind} ${namespace}/${name} has no key ${key}, or does not exist`);
    return value;
  };
  const resolveVariable = ({ value, valueFrom }: DeepReadonly<EnvVar>): string | undefined => {
    if (valueFrom?.secretKeyRef) return valueOf("secret", valueFrom.secretKeyRef);
    if (valueFrom?.configMapKeyRef) return valueOf("configMap", valueFrom.configMapKeyRef);
    const field = valueFrom?.fieldRef?.fieldPath;
    if (field === "metadata.name" || field === "metadata.namespace" || field === "metadata.uid")
      return pod.metadata?.[field.slice("metadata.".length) as "name" | "namespace" | "uid"];
    return value ?? "";
  };
  const environment = async (name: string): Promise<readonly ResolvedEnvVar[]> =>
    (containerOf(pod, name).env ?? []).flatMap((variable) => {
      const value = resolveVariable(variable);
      return value === undefined ? [] : [{ name: variable.name, value }];
    });
  const filesOf = (kind: "secret" | "configMap", name: string, optional: boolean | undefined): VolumeFile[] => {
    const data = dataOf(kind, name);
    if (!data && !optional) throw new InvalidInputError(`${kind} ${namespace}/${name} does not exist`);
    return [...(data ?? [])].map(([path, text]) => ({ path, mode: 0o644, content: Buffer.from(text) }));
  };
  const volume = async (name: string): Promise<VolumePayload> => {
    const source = pod.spec?.volumes?.find((each) => each.name === name);
    const sources = source?.projected?.sources ?? [
      { secret: source?.secret && { ...source.secret, name: source.secret.secretName }, configMap: source?.configMap },
    ];
    const files = sources.flatMap(({ secret, configMap }) => [
      ...(secret ? filesOf("secret", secret.name ?? "", secret.optional) : []),
      ...(configMap ? filesOf("configMap", configMap.name ?? "", configMap.optional) : []),
    ]);
    if (!source?.secret && !source?.configMap && !source?.projected)
      throw new InvalidInputError(`volume ${name} holds no files of the cluster's`);
    return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
  };
  return {
    environment,
    async commandLine(name) {
      const { command = [], args = [] } = containerOf(pod, name);
      return { command, args };
    },
    volume,
    async *watchVolume(name, signal) {
      yield await volume(name);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
    configMap: async (name) => found(fixtures.configMaps.get(`${namespace}/${name}`), `config map ${namespace}/${name}`),
    secret: async (name) => found(fixtures.secrets.get(`${namespace}/${name}`), `secret ${namespace}/${name}`),
    serviceVariables: async () => [],
  };
}

function found<T>(object: T | undefined, what: string): T {
  if (object === undefined) throw new NotFoundError(`${what} does not exist`);
  return object;
}

function containerOf({ spec }: DeepReadonly<Pod>, name: string): DeepReadonly<Container> {
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const container = all.find((each) => each.name === name);
  if (!container) throw new InvalidInputError(`the pod has no container ${name}`);
  return container;
}

function toMap(data: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> | undefined {
  return data && new Map(Object.entries(data));
}
