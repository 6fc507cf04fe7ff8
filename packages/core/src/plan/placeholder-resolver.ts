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
  const secrets = new Map<string, Secret>();
  const configMaps = new Map<string, DeepReadonly<ConfigMap>>();
  const notes: string[] = [];
  for (const { kind, name, keys, takesAll } of keyReferences(pod)) {
    const metadata = { namespace, name };
    const words = kind === "Secret" ? "secret" : "config map";
    const given = (kind === "Secret" ? known.secrets : known.configMaps).find((object) => object.metadata?.name === name);
    const placeholders = (names: Iterable<string>): Record<string, string> =>
      Object.fromEntries(Array.from(names, (key) => [key, `[${words} ${namespace}/${name}: ${key}]`]));
    if (!given && takesAll && !isEveryClusters(name))
      notes.push(`the keys of ${words} ${namespace}/${name} are not known here; those that the pod does not name are left out`);
    if (kind === "Secret") {
      const names = given ? Object.keys({ ...given.data, ...(given as Secret).stringData }) : keys;
      secrets.set(name, { metadata, data: mapValues(placeholders(names), toBase64) });
    } else configMaps.set(name, given ?? { metadata, data: placeholders(keys) });
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
