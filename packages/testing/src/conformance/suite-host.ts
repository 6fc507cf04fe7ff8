import { systemRandom } from "@virtual-kubelet/clock";
import type { Clock, DeepReadonly, LogFields, Logger, Metrics, Pod, PodRef, ProviderHost, ResolvedPod } from "@virtual-kubelet/core";
import { messageOf, NotFoundError } from "@virtual-kubelet/errdefs";
import type { Fixtures } from "./fixtures.ts";
import { resolveForSuite } from "./suite-resolver.ts";

/** Names of the suite's cluster and node. */
export const suiteOwner = { clusterId: "conformance-cluster", nodeName: "conformance-node" } as const;

/** The host that the suite passes to a provider. It records logs and metrics, which must not contain secrets. */
export class SuiteHost {
  readonly host: ProviderHost;
  /** Everything logged and counted, one line each. */
  readonly shown: string[] = [];
  readonly #pods = new Map<string, DeepReadonly<Pod>>();
  readonly #fixtures: Fixtures;

  constructor({ clock, fixtures, nodeName = suiteOwner.nodeName }: { clock: Clock; fixtures: Fixtures; nodeName?: string | undefined }) {
    this.#fixtures = fixtures;
    this.host = {
      nodeName,
      clusterId: suiteOwner.clusterId,
      nodeAddress: "192.0.2.1",
      clusterDomain: "cluster.local",
      logger: this.#logger({}),
      metrics: this.#metrics(),
      clock,
      random: systemRandom,
      getSecret: async (namespace, name) => found(fixtures.secrets.get(`${namespace}/${name}`), "secret", namespace, name),
      getConfigMap: async (namespace, name) => found(fixtures.configMaps.get(`${namespace}/${name}`), "config map", namespace, name),
      getServiceAccountToken: async ({ namespace, name }) => {
        throw new NotFoundError(`pod ${namespace}/${name} has no service account in this suite`);
      },
      resolvePod: (ref) => this.resolve(ref),
      findPod: ({ uid }) => this.#pods.get(uid),
      recordEvent: ({ namespace, name }, event) => void this.shown.push(`event on ${namespace}/${name} ${JSON.stringify(event)}`),
    };
  }

  /** Adds the pod to this node. */
  know(pod: DeepReadonly<Pod>): ResolvedPod {
    this.#pods.set(pod.metadata?.uid ?? "", pod);
    return resolveForSuite(pod, this.#fixtures);
  }

  resolve({ namespace, name, uid }: PodRef): ResolvedPod {
    const pod = this.#pods.get(uid);
    if (!pod) throw new NotFoundError(`pod ${namespace}/${name} (${uid}) is none of this node's`);
    return resolveForSuite(pod, this.#fixtures);
  }

  #logger(bound: LogFields): Logger {
    const log = (fields: LogFields, message: string): void => void this.shown.push(`${message} ${textOf({ ...bound, ...fields })}`);
    return { debug: log, info: log, warn: log, error: log, child: (fields) => this.#logger({ ...bound, ...fields }) };
  }

  #metrics(): Metrics {
    const note = (name: string, labels: object | undefined): void => void this.shown.push(`${name} ${JSON.stringify(labels)}`);
    return {
      count: (name, labels) => note(name, labels),
      gauge: (name, _value, labels) => note(name, labels),
      observe: (name, _value, labels) => note(name, labels),
    };
  }
}

/** Everything readable in a value, including errors and their causes. */
export function textOf(value: unknown): string {
  const seen = new Set<unknown>();
  const show = (_key: string, entry: unknown): unknown => {
    if (typeof entry === "bigint") return String(entry);
    if (typeof entry !== "object" || entry === null) return entry;
    if (seen.has(entry)) return "(again)";
    seen.add(entry);
    if (entry instanceof Error) return Object.assign({ text: messageOf(entry), stack: entry.stack }, entry, { cause: entry.cause });
    return entry;
  };
  return value instanceof Error ? JSON.stringify({ error: value }, show) : (JSON.stringify(value, show) ?? String(value));
}

function found<T>(object: T | undefined, kind: string, namespace: string, name: string): T {
  if (object === undefined) throw new NotFoundError(`${kind} ${namespace}/${name} does not exist`);
  return object;
}
