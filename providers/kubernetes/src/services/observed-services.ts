import type { Clock, Random } from "@virtual-kubelet/clock";
import {
  Reflector,
  resources,
  type DeepReadonly,
  type EndpointSlice,
  type KubeClient,
  type Logger,
  type Metrics,
  type ServerHistory,
  type Service,
} from "@virtual-kubelet/kube-client";
import { serviceNameLabel } from "./mirrored-slice.ts";

/** Options of {@link ObservedServices}. */
export interface ObservedServicesOptions {
  readonly client: KubeClient;
  /** Tells when everything has to be listed anew. */
  readonly history?: ServerHistory | undefined;
  readonly namespaces: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Called for each Service that has changed itself, or whose EndpointSlices have. */
  readonly onChange: (namespace: string, name: string) => void;
  /** Called when a namespace's Services and EndpointSlices are known. */
  readonly onListed: (namespace: string) => void;
}

interface ObservedNamespace {
  readonly services: Reflector<Service>;
  readonly slices: Reflector<EndpointSlice>;
  /** Slices by the Service's name and by UID. */
  readonly byService: Map<string, Map<string, DeepReadonly<EndpointSlice>>>;
  isListed: boolean;
}

/** Services and EndpointSlices of some namespaces of one cluster. One namespace that cannot be listed does not hold up the others. */
export class ObservedServices {
  readonly #options: ObservedServicesOptions;
  readonly #namespaces = new Map<string, ObservedNamespace>();

  constructor(options: ObservedServicesOptions) {
    this.#options = options;
    const { client, history, clock, random, logger, metrics } = options;
    for (const namespace of options.namespaces) {
      const common = { client, history, clock, random, logger: logger.child({ namespace }), metrics, query: { namespace } };
      this.#namespaces.set(namespace, {
        services: new Reflector({ ...common, resource: resources.services }),
        slices: new Reflector({ ...common, resource: resources.endpointSlices }),
        byService: new Map(),
        isListed: false,
      });
    }
  }

  /** Whether the namespace's Services and EndpointSlices are known. */
  isListed(namespace: string): boolean {
    return this.#namespaces.get(namespace)?.isListed ?? false;
  }

  service(namespace: string, name: string): DeepReadonly<Service> | undefined {
    return this.#namespaces.get(namespace)?.services.store.getByName(namespace, name);
  }

  slices(namespace: string, serviceName: string): DeepReadonly<EndpointSlice>[] {
    return [...(this.#namespaces.get(namespace)?.byService.get(serviceName)?.values() ?? [])];
  }

  /** Names of all Services, and of Services that only have EndpointSlices. */
  names(namespace: string): Set<string> {
    const observed = this.#namespaces.get(namespace);
    if (!observed) return new Set();
    const services = [...observed.services.store.list()].map(({ metadata }) => metadata?.name ?? "");
    return new Set([...services, ...observed.byService.keys()]);
  }

  /** Lists and watches until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#namespaces].map(([namespace, observed]) => this.#runNamespace(namespace, observed, signal)));
  }

  async #runNamespace(namespace: string, observed: ObservedNamespace, signal: AbortSignal): Promise<void> {
    const { services, slices } = observed;
    const tell = (name: string | undefined): void => {
      if (name !== undefined && observed.isListed) this.#options.onChange(namespace, name);
    };
    using _services = services.store.subscribe(({ object }) => tell(object.metadata?.name));
    using _slices = slices.store.subscribe((change) => {
      if (change.type === "updated") drop(observed, change.uid, change.previous);
      if (change.type === "deleted") drop(observed, change.uid, change.object);
      else add(observed, change.uid, change.object);
      if (change.type === "updated") tell(serviceNameOf(change.previous));
      tell(serviceNameOf(change.object));
    });
    const running = Promise.all([services.run(signal), slices.run(signal)]);
    const listed = Promise.all([services.synced, slices.synced]).then(
      () => {
        observed.isListed = true;
        this.#options.onListed(namespace);
      },
      // The run was aborted.
      () => {},
    );
    await Promise.all([running, listed]);
  }
}

function serviceNameOf({ metadata }: DeepReadonly<EndpointSlice>): string | undefined {
  return metadata?.labels?.[serviceNameLabel];
}

function add({ byService }: ObservedNamespace, uid: string, slice: DeepReadonly<EndpointSlice>): void {
  const name = serviceNameOf(slice);
  if (name === undefined) return;
  byService.set(name, (byService.get(name) ?? new Map<string, DeepReadonly<EndpointSlice>>()).set(uid, slice));
}

function drop({ byService }: ObservedNamespace, uid: string, slice: DeepReadonly<EndpointSlice>): void {
  const name = serviceNameOf(slice) ?? "";
  const slices = byService.get(name);
  slices?.delete(uid);
  if (slices?.size === 0) byService.delete(name);
}
