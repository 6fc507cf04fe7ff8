import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { podRef, type PodEvent, type PodRef, type ProviderHost } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import {
  createKubeClient,
  noMetrics,
  resources,
  silentLogger,
  type ConfigMap,
  type KubeClient,
  type Pod,
  type Secret,
  type Transport,
  type TransportRequest,
} from "@virtual-kubelet/kube-client";
import { Carrier } from "../carry/carrier.ts";
import { resourceOf, type FarObject } from "../carry/far-object.ts";
import type { FarNode } from "../far/far-node.ts";
import { WatchedCluster } from "../far/watched-cluster.ts";
import { copyName } from "../identity/names.ts";
import { namespaceMap } from "../identity/namespaces.ts";
import { kubernetesConfigSchema } from "../config.ts";
import { carriedBy, farPodOf } from "../translate/far-pod.ts";
import { apiConnection } from "./api-connection.ts";
import { FakeHome } from "./fake-home.ts";

type FarValues = ConfigMap & Secret;

/** A far cluster in the process, a fake home cluster, and carriers between them. */
export interface CarryRig extends AsyncDisposable {
  readonly server: ApiServer;
  readonly client: KubeClient;
  readonly clock: VirtualClock;
  readonly home: FakeHome;
  /** Requests of the carriers, without watches, as `POST /api/v1/…`. */
  readonly requests: string[];
  /** Starts the carrier of a node, as the program does. */
  open(options?: { readonly config?: object; readonly nodeName?: string }): CarrierOfNode;
  /** The far object in namespace `far`; `undefined` if there is none. */
  find(kind: FarObject["kind"], name: string): Promise<FarValues | undefined>;
  /** The copy for the node `virtual`. */
  copy(kind: FarObject["kind"], name: string): Promise<FarValues | undefined>;
  /** Lets virtual time pass. */
  pass(ms: number): Promise<void>;
}

/** A node's carrier. */
export interface CarrierOfNode extends AsyncDisposable {
  readonly carrier: Carrier;
  readonly node: FarNode;
  readonly events: { readonly ref: PodRef; readonly event: PodEvent }[];
  readonly logs: string[];
  /** What the provider does before it creates the far pod. */
  provide(pod: Pod): Promise<void>;
  /** Creates the far pod, without a kubelet. */
  createFar(pod: Pod): Promise<Pod>;
}

const { signal } = new AbortController();

/** Starts the clusters. */
export async function startCarryRig(wrap: (transport: Transport) => Transport = (transport) => transport): Promise<CarryRig> {
  const clock = new VirtualClock();
  const server = await startApiServer({
    listen: false,
    controllers: false,
    serviceAccounts: true,
    clock,
    objects: [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "far" } }],
  });
  const client = createKubeClient(server.transport(), { clock });
  const home = new FakeHome();
  const requests: string[] = [];
  const counted: Transport = {
    async request(request: TransportRequest) {
      if (!request.path.includes("watch=true")) requests.push(`${request.method} ${request.path}`);
      return server.transport().request(request);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const find = async (kind: FarObject["kind"], name: string): Promise<FarValues | undefined> =>
    client.get(resourceOf(kind), { namespace: "far", name }, { signal }).catch(() => undefined);
  return {
    server,
    client,
    clock,
    home,
    requests,
    open: ({ config = {}, nodeName = "virtual" } = {}) =>
      openCarrier({ client: createKubeClient(wrap(counted), { clock }), clock, home, nodeName, config }),
    find,
    copy: (kind, name) => find(kind, copyName({ clusterId: "home", nodeName: "virtual" }, kind, { namespace: "shop", name })),
    pass: (ms) => clock.advance(ms),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function openCarrier({
  client,
  clock,
  home,
  nodeName,
  config: input,
}: {
  readonly client: KubeClient;
  readonly clock: VirtualClock;
  readonly home: FakeHome;
  readonly nodeName: string;
  readonly config: object;
}): CarrierOfNode {
  const config = kubernetesConfigSchema.parse(input);
  const owner = { clusterId: "home", nodeName };
  const namespaces = namespaceMap(config.namespaces, "far");
  const shared = { clock, random: new SeededRandom(1), logger: silentLogger, metrics: noMetrics };
  const events: { ref: PodRef; event: PodEvent }[] = [];
  const logs: string[] = [];
  const log = (fields: object, message: string): void => void logs.push(`${JSON.stringify(fields)} ${message}`);
  const connection = apiConnection(client, "far");
  const far = new WatchedCluster({
    ...shared,
    connection,
    clusterId: "home",
    namespace: namespaces.only,
    createsNamespaces: namespaces.creates,
  });
  const host: ProviderHost = {
    ...shared,
    logger: { ...silentLogger, debug: log, info: log, warn: log, error: log, child: () => host.logger },
    nodeName,
    clusterId: "home",
    nodeAddress: undefined,
    clusterDomain: "cluster.local",
    getSecret: () => Promise.reject(new NotFoundError("none")),
    getConfigMap: () => Promise.reject(new NotFoundError("none")),
    getServiceAccountToken: () => Promise.reject(new NotFoundError("none")),
    resolvePod: (ref) => home.resolvePod(ref),
    onConfigChanged: (listener) => home.onConfigChanged(listener),
    findPod: (ref) => home.findPod(ref),
    recordEvent: (ref, event) => void events.push({ ref, event }),
  };
  const node: FarNode = { host, config, owner, namespaces, far };
  const carrier = new Carrier(node);
  carrier.start();
  const changes = far.onPodChange(owner, (change) => {
    const ref = {
      ...homeRefOf(change.object.metadata?.annotations?.["virtual-kubelet.io/pod"]),
      uid: change.object.metadata?.labels?.["virtual-kubelet.io/pod-uid"] ?? "",
    };
    if (change.type === "added") carrier.adopt(ref, change.object);
    if (change.type === "deleted") carrier.release(ref);
  });
  return {
    carrier,
    node,
    events,
    logs,
    async provide(pod) {
      const ref = podRef(pod);
      const farNamespace = namespaces.toFar(ref.namespace);
      await carrier.provide({ ref, farNamespace, carried: carriedBy(pod, node, new Set()), resolved: home.resolvePod(ref) }, signal);
    },
    async createFar(pod) {
      const owners = [await far.ownerReference(owner, namespaces.toFar(podRef(pod).namespace), signal)];
      const { pod: farPod } = farPodOf(pod, { claims: new Map() }, node);
      return client.create(resources.pods, { ...farPod, metadata: { ...farPod.metadata, ownerReferences: owners } }, { signal });
    },
    async [Symbol.asyncDispose]() {
      changes[Symbol.dispose]();
      await carrier[Symbol.asyncDispose]();
      await far[Symbol.asyncDispose]();
    },
  };
}

function homeRefOf(fullName = "/"): { readonly namespace: string; readonly name: string } {
  const [namespace = "", name = ""] = fullName.split("/");
  return { namespace, name };
}
