import type { Capabilities, ProviderDefinition, ProviderHost } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { conditions } from "./conditions.ts";
import { kubernetesConfigSchema, type KubernetesConfig } from "./config.ts";
import type { ConnectionConfig } from "./config/connection.ts";
import { connect, type ConnectOptions } from "./far/connect.ts";
import type { FarConnection } from "./far/far-cluster.ts";
import { farMetrics } from "./far/far-metrics.ts";
import { SharedClusters, type FarClusterShare } from "./far/shared-clusters.ts";
import { WatchedCluster } from "./far/watched-cluster.ts";
import { namespaceMap } from "./identity/namespaces.ts";
import { KubernetesProvider } from "./kubernetes-provider.ts";
import { configOfNode, discoverNodes } from "./node/discover-nodes.ts";
import { SharedEvents } from "./events/far-events.ts";
import { SharedFigures } from "./usage/far-figures.ts";
import { SharedSelections } from "./node/shared-selections.ts";
import { reasons } from "./reasons.ts";
import { farManifest } from "./rights/far-manifest.ts";
import { connectHome, type ConnectHome } from "./services/home-connection.ts";
import { checkServicesConfig, ServiceMirrors } from "./services/service-mirrors.ts";
import { homeServiceRights } from "./services/service-rights.ts";
import { plannedRequests } from "./translate/planned-requests.ts";

/** Everything, because it is a cluster that runs the pods. What a single cluster does not allow, its own admission refuses. */
const capabilities: Capabilities = {
  initContainers: true,
  sidecarContainers: true,
  ephemeralContainers: true,
  multipleContainers: true,
  env: true,
  probes: true,
  lifecycleHooks: true,
  restarts: true,
  hostNetwork: true,
  hostPorts: true,
  sharedNamespaces: true,
  securityContext: true,
  privileged: true,
  gpus: true,
  volumes: [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "projected",
    "secret",
  ],
  operatingSystems: ["linux", "windows"],
  resize: true,
};

/** Options of {@link kubernetesProvider}. */
export interface KubernetesProviderOptions {
  /** Opens the connection to the far cluster. Default: with the kubeconfig of the configuration. */
  readonly connect?: ((config: ConnectionConfig, options: ConnectOptions) => Promise<FarConnection>) | undefined;
  /** Opens the connection to the home cluster for mirrored Services. Default: with the kubeconfig of the configuration, or the program's. */
  readonly connectHome?: ConnectHome | undefined;
  /** Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Returns a provider whose nodes share the connections to their far clusters. */
export function kubernetesProvider(options: KubernetesProviderOptions = {}): ProviderDefinition<KubernetesConfig> {
  const open = options.connect ?? connect;
  // oxlint-disable-next-line node/no-process-env -- credential commands inherit it; the option is there for callers with another one
  const env = options.env ?? process.env;
  const clusters = new SharedClusters<WatchedCluster>();
  const shared = {
    selections: new SharedSelections(),
    mirrors: new ServiceMirrors(options.connectHome ?? connectHome(env)),
    figures: new SharedFigures(),
    events: new SharedEvents(),
  };
  const acquire = (host: WatchHost, config: KubernetesConfig): Promise<FarClusterShare<WatchedCluster>> => {
    const key = JSON.stringify([config.cluster.kubeconfig, config.cluster.context, host.clusterId, config.namespaces]);
    return clusters.acquire(key, () => watch(host, config, open, env));
  };
  return {
    name: "kubernetes",
    aliases: ["cluster"],
    capabilities,
    reasons,
    conditions,
    configSchema: kubernetesConfigSchema,
    // Without a policy: the level baseline.
    policy: ({ policy = {} }) => policy,
    provisioners: ({ claims }) => [claims.provisioner],
    async create(host, config) {
      const { clusterId, nodeName } = host;
      if (clusterId === "")
        throw new InvalidInputError(
          "the id of the home cluster is not known, by which its pods are told apart in the far cluster: set cluster.id, or let the program read the namespace kube-system",
        );
      checkServicesConfig(config);
      const share = await acquire(host, config);
      try {
        const namespaces = namespaceMap(config.namespaces, share.far.connection.namespace);
        return new KubernetesProvider({ host, config, owner: { clusterId, nodeName }, namespaces, far: share.far }, share, shared);
      } catch (error) {
        await share[Symbol.asyncDispose]();
        throw error;
      }
    },
    plan: plannedRequests,
    neededRights: homeServiceRights,
    backEndManifest: (config, { nodeName }) => farManifest(config, nodeName),
    discoverNodes(host, config) {
      if (!config.node.each) return undefined;
      return {
        async *discover(signal) {
          await using share = await acquire(host, config);
          yield* discoverNodes({ far: share.far, config, clock: host.clock }, signal);
        },
        configOf: (name) => configOfNode(config, name),
      };
    },
  };
}

/** What a connection needs of the host of a node, or of the discovery of nodes. */
type WatchHost = Pick<ProviderHost, "clusterId" | "clock" | "random" | "logger" | "metrics">;

async function watch(
  host: WatchHost,
  config: KubernetesConfig,
  open: (config: ConnectionConfig, options: ConnectOptions) => Promise<FarConnection>,
  env: Readonly<Record<string, string | undefined>>,
): Promise<WatchedCluster> {
  const { clusterId, clock, random } = host;
  const metrics = farMetrics(host.metrics);
  const connection = await open(config.cluster, { env, clock, metrics });
  const { only, creates } = namespaceMap(config.namespaces, connection.namespace);
  const logger = host.logger.child({ far: config.cluster.context ?? config.cluster.kubeconfig ?? "" });
  return new WatchedCluster({ connection, clusterId, namespace: only, createsNamespaces: creates, clock, random, logger, metrics });
}

/** The provider of another Kubernetes cluster, as the program and {@link "@virtual-kubelet/core"!VirtualNode} take it. */
export const provider: ProviderDefinition<KubernetesConfig> = kubernetesProvider();
