import { systemRandom } from "@virtual-kubelet/clock";
import { startApiServer, VirtualClock, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import {
  createKubeClient,
  noMetrics,
  resources,
  silentLogger,
  type EndpointSlice,
  type KubeClient,
  type KubernetesObject,
  type LogFields,
  type Logger,
  type Resource,
  type Service,
  type Transport,
} from "@virtual-kubelet/kube-client";
import type { NamespacesConfig } from "../config/namespaces.ts";
import type { NetworkConfig } from "../config/network.ts";
import type { ServicesConfig } from "../config/services.ts";
import type { FarCluster } from "../far/far-cluster.ts";
import { WatchedCluster } from "../far/watched-cluster.ts";
import { namespaceMap } from "../identity/namespaces.ts";
import { ServiceMirror } from "../services/service-mirror.ts";
import { addressMap } from "../status/address-map.ts";
import { apiConnection } from "./api-connection.ts";

/** Two clusters in the process, and mirrors between them, in virtual time. */
export interface MirrorRig extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly home: TestCluster;
  readonly far: TestCluster;
  /** The far cluster as the provider's nodes share it. */
  readonly farCluster: FarCluster;
  /** Messages of the mirrors' warnings. */
  readonly warnings: string[];
  /** Starts a mirror; it ends with the rig, or when it is disposed. */
  mirror(options?: MirrorOptions): AsyncDisposable;
  /** Lets everything happen that is due within a minute. */
  settle(): Promise<void>;
}

/** Options of {@link MirrorRig.mirror}. */
interface MirrorOptions {
  readonly nodeNames?: readonly string[];
  readonly services?: Partial<ServicesConfig>;
  readonly namespaces?: NamespacesConfig;
  readonly podIPs?: NetworkConfig["podIPs"];
  readonly carriesLabel?: (key: string) => boolean;
  /** Wraps the transport of the mirror to one of the clusters, such as for faults. */
  readonly wrap?: { readonly home?: (transport: Transport) => Transport; readonly far?: (transport: Transport) => Transport };
}

/** One of the clusters, as its administrator sees it. */
export interface TestCluster {
  readonly server: ApiServer;
  readonly client: KubeClient;
  createService(namespace: string, name: string, spec?: Service["spec"], labels?: Record<string, string>): Promise<Service>;
  /** Creates or replaces a slice with these endpoints, as a controller of Kubernetes does. */
  setEndpoints(
    namespace: string,
    service: string,
    endpoints: EndpointSlice["endpoints"],
    slice?: Partial<EndpointSlice>,
  ): Promise<EndpointSlice>;
  service(namespace: string, name: string): Promise<Service | undefined>;
  slices(namespace: string, service: string): Promise<EndpointSlice[]>;
  /** All addresses of a Service, sorted. */
  addresses(namespace: string, service: string): Promise<string[]>;
  remove<T extends KubernetesObject>(resource: Resource<T>, namespace: string, name: string): Promise<void>;
  events(namespace: string): Promise<string[]>;
}

const sameNames: NamespacesConfig = { mode: "same", create: false };

/** Starts two clusters with the namespaces `default`, `a` and `b`. */
export async function startMirrorRig(): Promise<MirrorRig> {
  const clock = new VirtualClock();
  const [home, far] = await Promise.all([startCluster(clock), startCluster(clock)]);
  const warnings: string[] = [];
  const logger = recordingLogger(warnings);
  const open = new Set<AsyncDisposable>();
  const farCluster = watched(far.client, clock);
  return {
    clock,
    home,
    far,
    farCluster,
    warnings,
    mirror({ nodeNames = ["far-1"], services = {}, namespaces = sameNames, podIPs = "same", carriesLabel, wrap } = {}) {
      const end = new AbortController();
      const farClient = createKubeClient(wrap?.far?.(far.server.transport()) ?? far.server.transport(), { clock });
      const shared = watched(farClient, clock);
      const mirror = new ServiceMirror({
        clusterId: "home-1",
        nodeNames: new Set(nodeNames),
        services: { namespaces: ["a"], direction: "both", ...services },
        carriesLabel: carriesLabel ?? (() => true),
        namespaces: namespaceMap(namespaces, undefined),
        addresses: addressMap(podIPs),
        home: createKubeClient(wrap?.home?.(home.server.transport()) ?? home.server.transport(), { clock }),
        far: shared,
        clock,
        random: systemRandom,
        logger,
        metrics: noMetrics,
        farMetrics: noMetrics,
      });
      const running = mirror.run(end.signal);
      const handle = {
        async [Symbol.asyncDispose]() {
          if (!open.delete(handle)) return;
          end.abort(new Error("the test ends it"));
          await Promise.all([running, clock.advance(10_000)]);
          await shared[Symbol.asyncDispose]();
        },
      };
      open.add(handle);
      return handle;
    },
    settle: () => clock.advance(60_000),
    async [Symbol.asyncDispose]() {
      for (const handle of open) await handle[Symbol.asyncDispose]();
      await farCluster[Symbol.asyncDispose]();
      await home.server[Symbol.asyncDispose]();
      await far.server[Symbol.asyncDispose]();
    },
  };
}

async function startCluster(clock: VirtualClock): Promise<TestCluster> {
  const namespaces = ["a", "b"].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  const server = await startApiServer({ listen: false, controllers: false, serviceAccounts: true, clock, objects: namespaces });
  const client = createKubeClient(server.transport(), { clock });
  const call = (): { readonly signal: AbortSignal } => ({ signal: AbortSignal.timeout(5_000) });
  const list = async <T extends KubernetesObject>(resource: Resource<T>, namespace: string): Promise<T[]> =>
    (await client.list(resource, { namespace }, call())).items;
  const slices = async (namespace: string, service: string): Promise<EndpointSlice[]> =>
    (await list(resources.endpointSlices, namespace)).filter(
      ({ metadata }) => metadata?.labels?.["kubernetes.io/service-name"] === service,
    );
  return {
    server,
    client,
    slices,
    async createService(namespace, name, spec = {}, labels = {}) {
      const ports = [{ port: 80, targetPort: 8080 }];
      const service: Service = { apiVersion: "v1", kind: "Service", metadata: { namespace, name, labels }, spec: { ports, ...spec } };
      return client.create(resources.services, service, call());
    },
    async setEndpoints(namespace, service, endpoints, parts = {}) {
      const name = parts.metadata?.name ?? `${service}-abcde`;
      const labels = { "kubernetes.io/service-name": service, "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io" };
      const slice: EndpointSlice = {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        addressType: "IPv4",
        ports: [{ port: 8080 }],
        ...parts,
        endpoints,
        metadata: { labels, ...parts.metadata, namespace, name },
      };
      try {
        return await client.create(resources.endpointSlices, slice, call());
      } catch (error) {
        if (!isConflict(error)) throw error;
        return client.replace(resources.endpointSlices, slice, call());
      }
    },
    service: (namespace, name) => orUndefined(client.get(resources.services, { namespace, name }, call())),
    async addresses(namespace, service) {
      return (await slices(namespace, service)).flatMap(({ endpoints }) => (endpoints ?? []).flatMap((each) => each.addresses)).toSorted();
    },
    remove: (resource, namespace, name) => client.delete(resource, { namespace, name }, {}, call()),
    events: async (namespace) => (await list(resources.events, namespace)).map(({ reason, message }) => `${reason}: ${message}`),
  };
}

async function orUndefined<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function watched(client: KubeClient, clock: VirtualClock): WatchedCluster {
  const common = { clock, random: systemRandom, logger: silentLogger, metrics: noMetrics };
  return new WatchedCluster({
    ...common,
    connection: apiConnection(client),
    clusterId: "home-1",
    namespace: undefined,
    createsNamespaces: false,
  });
}

/** Collects the messages of warnings and errors. */
export function recordingLogger(warnings: string[]): Logger {
  const logger: Logger = {
    ...silentLogger,
    warn: (fields: LogFields, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
    error: (fields: LogFields, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
    child: () => logger,
  };
  return logger;
}
