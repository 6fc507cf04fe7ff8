import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { ConfigMap, DeepReadonly, Pod, Secret } from "@virtual-kubelet/kube-client";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import { readVolume, type VolumeSources } from "../volumes/volume-content.ts";
import { keyReferences } from "../env/key-references.ts";
import { createPodResolver } from "../env/pod-resolver.ts";

/** Known objects of the pod's namespace. */
export interface KnownObjects {
  readonly configMaps: readonly DeepReadonly<ConfigMap>[];
  /** Only names and keys are read. */
  readonly secrets: readonly DeepReadonly<Secret>[];
}

/** An unused address. */
const noAddress = "0.0.0.0";

/** Result of {@link resolveWithPlaceholders}. */
export interface PlaceholderPod {
  readonly resolved: ResolvedPod;
  /** Differences from a cluster, one line each. */
  readonly notes: readonly string[];
}

/**
 * Resolves a pod's references without a cluster. A secret's value is replaced by `[secret NAMESPACE/NAME: KEY]`,
 * even for a known secret; tokens and the values of unknown config maps are replaced in the same way.
 */
export function resolveWithPlaceholders(pod: DeepReadonly<Pod>, known: KnownObjects): PlaceholderPod {
  const namespace = pod.metadata?.namespace ?? "default";
  const secrets = new Map<string, DeepReadonly<Secret>>();
  const configMaps = new Map<string, DeepReadonly<ConfigMap>>();
  const notes: string[] = [];
  for (const { kind, name, keys, takesAll } of keyReferences(pod)) {
    const words = wordsOf(kind);
    const given = (kind === "Secret" ? known.secrets : known.configMaps).find((object) => object.metadata?.name === name);
    if (!given && takesAll && !isEveryClusters(name))
      notes.push(`the keys of ${words} ${namespace}/${name} are not known here; those that the pod does not name are left out`);
    if (kind === "Secret") secrets.set(name, placeholderSecret(namespace, name, given, keys));
    else configMaps.set(name, given ?? { metadata: { namespace, name }, data: placeholdersFor({ kind, namespace, name }, keys) });
  }
  for (const { name = "" } of pod.spec?.imagePullSecrets ?? []) {
    const given = known.secrets.find((secret) => secret.metadata?.name === name);
    if (name !== "" && !secrets.has(name)) secrets.set(name, placeholderPullSecret(namespace, name, given));
  }
  notes.push("the variables of the cluster's services (KUBERNETES_SERVICE_HOST and the like) are left out");
  if (/status\.(host|pod)IP/.test(JSON.stringify(pod.spec))) notes.push(`${noAddress} stands for the addresses of pod and node`);

  const find = async <T>(objects: ReadonlyMap<string, T>, name: string): Promise<T> => {
    const object = objects.get(name);
    if (object === undefined) throw new NotFoundError(`${namespace}/${name} is not referenced by the pod`);
    return object;
  };
  const sources: VolumeSources = {
    getSecret: (name) => find(secrets, name),
    getConfigMap: (name) => find(configMaps, name),
    getToken: async () => ({ token: "[service account token]", expirationTimestamp: "", refreshAtMs: Infinity }),
    getTrustAnchors: async () => "[trust anchors]",
    allocatable: undefined,
  };
  const resolve = createPodResolver({
    getSecret: (_namespace, name) => find(secrets, name),
    getConfigMap: (_namespace, name) => find(configMaps, name),
    listServices: async () => [],
    node: () => undefined,
    hostIPs: () => [noAddress],
    volumesOf: (of) => volumesOf(of, sources),
    recorder: { event: () => {} },
  });
  const addressed = { ...pod, status: { ...pod.status, podIP: noAddress, podIPs: [{ ip: noAddress }] } };
  return { resolved: resolve(addressed), notes };
}

/** Returns a secret without its values; `given` is the known one. */
function placeholderSecret(
  namespace: string,
  name: string,
  given: DeepReadonly<Secret> | undefined,
  keys: Iterable<string>,
): DeepReadonly<Secret> {
  const names = given ? Object.keys({ ...given.data, ...given.stringData }) : keys;
  const data = mapValues(placeholdersFor({ kind: "Secret", namespace, name }, names), toBase64);
  return { metadata: { namespace, name }, ...(given?.type !== undefined && { type: given.type }), data };
}

function placeholderPullSecret(namespace: string, name: string, given: DeepReadonly<Secret> | undefined): DeepReadonly<Secret> {
  return { type: "kubernetes.io/dockerconfigjson", ...placeholderSecret(namespace, name, given, [".dockerconfigjson"]) };
}

interface ObjectName {
  readonly kind: "Secret" | "ConfigMap";
  readonly namespace: string;
  readonly name: string;
}

function placeholdersFor({ kind, namespace, name }: ObjectName, keys: Iterable<string>): Record<string, string> {
  return Object.fromEntries(Array.from(keys, (key) => [key, `[${wordsOf(kind)} ${namespace}/${name}: ${key}]`]));
}

function wordsOf(kind: ObjectName["kind"]): string {
  return kind === "Secret" ? "secret" : "config map";
}

/** Kubernetes creates it in every namespace. */
function isEveryClusters(name: string): boolean {
  return name === "kube-root-ca.crt";
}

function volumesOf(pod: DeepReadonly<Pod>, sources: VolumeSources): Pick<ResolvedPod, "volume" | "watchVolume"> {
  const volume: ResolvedPod["volume"] = async (name, signal) => {
    const found = pod.spec?.volumes?.find((each) => each.name === name);
    if (!found) throw new NotFoundError(`the pod has no volume ${name}`);
    return (await readVolume(found, pod, sources, signal)).payload;
  };
  return {
    volume,
    async *watchVolume(name, signal) {
      yield await volume(name, signal);
    },
  };
}

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function mapValues(values: Readonly<Record<string, string>>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
