import { systemRandom } from "@virtual-kubelet/clock";
import type { PodEvent, PodRef, PodUpdate, Provider, ProviderHost, ResolvedPod } from "@virtual-kubelet/core";
import { startApiServer, VirtualClock, type ApiServer, type ClientUser } from "@virtual-kubelet/embedded-apiserver";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import {
  createKubeClient,
  noMetrics,
  requireSuccess,
  resources,
  silentLogger,
  type KubeClient,
  type Pod,
  type Transport,
} from "@virtual-kubelet/kube-client";
import type { FarConnection } from "../far/far-cluster.ts";
import { kubernetesProvider } from "../provider.ts";

/** A far cluster in the process, and providers of virtual nodes that use it. */
export interface FarRig extends AsyncDisposable {
  readonly server: ApiServer;
  /** The far cluster's administrator. */
  readonly client: KubeClient;
  readonly clock: VirtualClock;
  readonly connection: FarConnection;
  /** Opens the provider of a node. All nodes share one definition. */
  open(options?: OpenOptions): Promise<OpenedNode>;
}

/** Options of {@link FarRig.open}. */
interface OpenOptions {
  readonly nodeName?: string;
  readonly clusterId?: string;
  readonly config?: object;
  /** Pods of the home cluster. */
  readonly pods?: readonly Pod[];
  /** Replaces parts of the host. */
  readonly host?: Partial<ProviderHost>;
}

/** A node's provider, and what it has told. */
export interface OpenedNode extends AsyncDisposable {
  readonly provider: Provider;
  readonly updates: PodUpdate[];
  readonly events: { readonly ref: PodRef; readonly event: PodEvent }[];
}

/** Options of {@link startFarRig}. */
export interface FarRigOptions {
  /** Wraps the transport of the providers, such as for faults. */
  readonly wrap?: (transport: Transport) => Transport;
  readonly clock?: VirtualClock;
  /** User of the providers. Default: the far cluster's administrator. */
  readonly user?: ClientUser;
  /** Objects of the far cluster. */
  readonly objects?: readonly object[];
  /** Called with the path of each upgrade request, which then fails. */
  readonly onUpgrade?: (path: string) => void;
}

/** Starts a far cluster without nodes and without a scheduler, so that tests play the kubelet. */
export async function startFarRig(options: FarRigOptions = {}): Promise<FarRig> {
  const { wrap = (transport) => transport, clock = new VirtualClock(), user, objects = [], onUpgrade } = options;
  const server = await startApiServer({ listen: false, controllers: false, serviceAccounts: true, clock, objects });
  const transport = wrap(server.transport(user));
  const connection: FarConnection = {
    client: createKubeClient(transport, { clock }),
    namespace: undefined,
    stream: async (path, signal) => requireSuccess(`GET ${path}`, await transport.request({ method: "GET", path, pool: "long", signal })),
    upgradeTarget: (path) => {
      onUpgrade?.(path);
      return Promise.reject(new NotFoundError("the cluster of the test has no sockets"));
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const definition = kubernetesProvider({ connect: () => Promise.resolve(connection), env: {} });
  return {
    server,
    client: createKubeClient(server.transport(), { clock }),
    clock,
    connection,
    async open({ nodeName = "far-1", clusterId = "home-1", config = {}, pods = [], host = {} } = {}) {
      const events: { ref: PodRef; event: PodEvent }[] = [];
      const updates: PodUpdate[] = [];
      const nothing = (): never => {
        throw new NotFoundError("the home cluster of the test has no such object");
      };
      const parsed = definition.configSchema.safeParse(config);
      if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
      const provider = await definition.create(
        {
          nodeName,
          clusterId,
          nodeAddress: "192.0.2.1",
          clusterDomain: "cluster.local",
          logger: silentLogger,
          metrics: noMetrics,
          clock,
          random: systemRandom,
          getSecret: nothing,
          getConfigMap: nothing,
          getServiceAccountToken: nothing,
          resolvePod: () => resolverOf(),
          findPod: ({ uid }) => pods.find(({ metadata }) => metadata?.uid === uid),
          recordEvent: (ref, event) => void events.push({ ref, event }),
          ...host,
        },
        parsed.data,
      );
      provider.notifyPods?.((update) => void updates.push(update));
      return { provider, updates, events, [Symbol.asyncDispose]: async () => await provider[Symbol.asyncDispose]?.() };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** References of a pod that has none, except those given. */
export function resolverOf(parts: Partial<ResolvedPod> = {}): ResolvedPod {
  const nothing = (): never => {
    throw new NotFoundError("the pod of the test refers to nothing");
  };
  return {
    environment: () => Promise.resolve([]),
    commandLine: () => Promise.resolve({ command: [], args: [] }),
    volume: nothing,
    watchVolume: nothing,
    configMap: nothing,
    secret: nothing,
    serviceVariables: () => Promise.resolve([]),
    ...parts,
  };
}

/** A home pod that is bound to the node. */
export function homePod(spec: Partial<NonNullable<Pod["spec"]>> = {}, metadata: NonNullable<Pod["metadata"]> = {}): Pod {
  const name = metadata.name ?? "web";
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", uid: `uid-of-${name}`, ...metadata, name },
    spec: { nodeName: "far-1", containers: [{ name: "main", image: "registry.example/main:1" }], ...spec },
  };
}

/** Plays the far kubelet: writes a far pod's status. */
export async function reportFar(client: KubeClient, farPod: Pod, status: NonNullable<Pod["status"]>): Promise<Pod> {
  const { namespace, name = "" } = farPod.metadata ?? {};
  const patch = { type: "merge", body: { status } } as const;
  return client.patch(resources.pods, { namespace, name }, patch, { subresource: "status", signal: AbortSignal.timeout(5_000) });
}
