import { podRequests } from "@virtual-kubelet/kubernetes";
import type { Cluster } from "../../rest/cluster.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { keyOf } from "../shared/object-key.ts";
import { isTerminal } from "../shared/pod-state.ts";

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** Resources and host ports that a pod uses on its node. */
export interface PodUsage {
  /** Requests in units of 10⁻⁹, by resource name. */
  readonly nanos: ReadonlyMap<string, bigint>;
  readonly ports: readonly HostPort[];
}

/** Total use of one node. */
export interface Usage {
  readonly pods: number;
  readonly nanos: ReadonlyMap<string, bigint>;
  readonly ports: readonly HostPort[];
}

const nothing: Usage = { pods: 0, nanos: new Map(), ports: [] };

export function podUsageOf(spec: PodSpec): PodUsage {
  const ports = (spec.containers ?? []).flatMap((container) => container.ports ?? []);
  return {
    nanos: new Map([...podRequests(spec)].map(([name, { nano }]) => [name, nano])),
    ports: ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ hostPort = 0, hostIP = "0.0.0.0", protocol = "TCP" }) => ({ ip: hostIP, protocol, port: hostPort })),
  };
}

/** Tracks the use of each node as pods come and go. Finished pods use nothing. */
export class NodeUsage implements Disposable {
  readonly #byPod = new Map<string, { readonly node: string; readonly podUsage: PodUsage }>();
  readonly #byNode = new Map<string, { pods: number; nanos: Map<string, bigint>; ports: HostPort[] }>();
  readonly #watch: Disposable;

  constructor(cluster: Cluster) {
    this.#watch = cluster.watch(podKind, ({ type, object }) => this.#note(object, type === "DELETED"));
    for (const pod of cluster.list(podKind)) this.#note(pod, false);
  }

  /** Current use of a node. */
  of(node: string): Usage {
    return this.#byNode.get(node) ?? nothing;
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  #note(pod: Readonly<ApiObject>, isGone: boolean): void {
    const key = keyOf(pod);
    const spec: PodSpec = pod["spec"];
    const known = this.#byPod.get(key);
    const node = isGone || isTerminal(pod) ? undefined : spec.nodeName;
    if (known !== undefined && known.node === node) return;
    if (known !== undefined) this.#add(known.node, known.podUsage, -1);
    this.#byPod.delete(key);
    if (node === undefined) return;
    const podUsage = podUsageOf(spec);
    this.#byPod.set(key, { node, podUsage });
    this.#add(node, podUsage, 1);
  }

  #add(node: string, { nanos, ports }: PodUsage, sign: 1 | -1): void {
    const usage = this.#byNode.get(node) ?? { pods: 0, nanos: new Map<string, bigint>(), ports: [] };
    usage.pods += sign;
    for (const [name, amount] of nanos) usage.nanos.set(name, (usage.nanos.get(name) ?? 0n) + BigInt(sign) * amount);
    if (sign === 1) usage.ports.push(...ports);
    else
      for (const { ip, protocol, port } of ports)
        removeFirst(usage.ports, (other) => other.ip === ip && other.protocol === protocol && other.port === port);
    if (usage.pods === 0) this.#byNode.delete(node);
    else this.#byNode.set(node, usage);
  }
}

function removeFirst<Item>(items: Item[], matches: (item: Item) => boolean): void {
  const index = items.findIndex(matches);
  if (index >= 0) items.splice(index, 1);
}
