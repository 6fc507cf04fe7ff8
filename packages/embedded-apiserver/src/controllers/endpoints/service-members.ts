import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { ServiceSpec } from "../../kinds/service/service-fields.ts";
import type { Cluster } from "../../rest/cluster.ts";

interface Membership {
  readonly selector: readonly (readonly [key: string, value: string])[];
  /** Names of the pods that the selector matches. */
  readonly pods: Set<string>;
}

/** The pods of each service, kept up to date so that a change of a pod costs a comparison with the selectors of its namespace. */
export class ServiceMembers {
  readonly #cluster: Cluster;
  /** By namespace, then by name; only services with a selector. */
  readonly #services = new Map<string, Map<string, Membership>>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Records a service's selector. */
  putService(service: Readonly<ApiObject>): void {
    const { namespace = "", name } = service.metadata;
    const { selector, type }: ServiceSpec = service["spec"];
    if (selector === undefined || type === "ExternalName") return this.removeService(service);
    const entries = Object.entries(selector);
    const services = this.#services.get(namespace) ?? new Map<string, Membership>();
    this.#services.set(namespace, services);
    const known = services.get(name);
    if (known !== undefined && JSON.stringify(known.selector) === JSON.stringify(entries)) return;
    const membership: Membership = { selector: entries, pods: new Set() };
    services.set(name, membership);
    for (const pod of this.#cluster.values(podKind, namespace)) if (matches(membership, pod)) membership.pods.add(pod.metadata.name);
  }

  removeService({ metadata: { namespace = "", name } }: Readonly<ApiObject>): void {
    const services = this.#services.get(namespace);
    services?.delete(name);
    if (services?.size === 0) this.#services.delete(namespace);
  }

  /** Records a change of a pod. @returns the names of the services that it belongs or belonged to */
  putPod(pod: Readonly<ApiObject>, isDeleted: boolean): readonly string[] {
    const { namespace = "", name } = pod.metadata;
    const services = this.#services.get(namespace);
    if (services === undefined) return none;
    const touched: string[] = [];
    for (const [service, membership] of services) {
      if (!isDeleted && matches(membership, pod)) membership.pods.add(name);
      else if (!membership.pods.delete(name)) continue;
      touched.push(service);
    }
    return touched;
  }

  /** Pods of a service. */
  podsOf(namespace: string, service: string): Readonly<ApiObject>[] {
    const names = this.#services.get(namespace)?.get(service)?.pods ?? [];
    return [...names].flatMap((name) => this.#cluster.get(podKind, namespace, name) ?? []);
  }

  /** Number of pods of a service. */
  countOf(namespace: string, service: string): number {
    return this.#services.get(namespace)?.get(service)?.pods.size ?? 0;
  }
}

const none: readonly string[] = [];

function matches({ selector }: Membership, { metadata: { labels = {} } }: Readonly<ApiObject>): boolean {
  return selector.every(([key, value]) => labels[key] === value);
}
