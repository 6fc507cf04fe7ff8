import { backgroundClock, systemRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import type { KeyPair } from "@virtual-kubelet/pki";
import { Aggregator } from "./aggregation/aggregator.ts";
import { createAdmissionPlugins } from "./admission/plugins.ts";
import { type AuthorizationMode, createAuthorizer } from "./authorization/authorizer.ts";
import { bootstrap } from "./bootstrap/bootstrap.ts";
import { createServerCredentials } from "./certificates/server-credentials.ts";
import type { Cluster } from "./rest/cluster.ts";
import { startControllers } from "./controllers/index.ts";
import { serveCustomResources } from "./custom-resources/custom-resources.ts";
import { Disposables } from "./resources/disposables.ts";
import { discoveryResponse } from "./discovery/index.ts";
import type { Faults } from "./faults/fault.ts";
import { FaultInjector } from "./faults/fault-injector.ts";
import type { RequestHandler } from "./http/api-request.ts";
import { handleRequest, type ApiHandlerContext } from "./http/api-handler.ts";
import { authenticate } from "./authentication/authenticate.ts";
import { metricsKinds, metricsResponse } from "./metrics/metrics-api.ts";
import type { MetricsSource } from "./metrics/metrics-source.ts";
import { openHttpServer, type HttpServer } from "./http/http-server.ts";
import { createInProcessTransport, type InProcessTransport } from "./clients/in-process-transport.ts";
import { toKubeconfig, writePrivateFile, type ClientUser } from "./clients/kubeconfig.ts";
import { defaultServiceRange } from "./kinds/service/service-range.ts";
import type { Kind } from "./kinds/kind.ts";
import { KubeletClient, kubeletClientUser } from "./kubelet-proxy/kubelet-client.ts";
import { KindTable } from "./kinds/kind-table.ts";
import { kinds } from "./kinds/index.ts";
import { Registry } from "./rest/registry.ts";
import { loadExpressionsOf } from "./cel/expression-loader.ts";
import { seedObjects } from "./bootstrap/seed-objects.ts";
import { ServiceAccountTokens } from "./authentication/service-account-token.ts";
import { Storage } from "./storage/storage.ts";
import type { WatchStream } from "./storage/watch.ts";

/** Options of {@link startApiServer}. The defaults suit tests. */
export interface ApiServerOptions {
  /** Port to listen on; default: 0, any free port. */
  readonly port?: number;
  /** Address to listen on; default: 127.0.0.1. */
  readonly host?: string;
  /** URL of the server in kubeconfigs, without a path; default: where it listens, or loopback if it listens on all addresses. */
  readonly advertisedUrl?: string;
  /** Additional names and addresses of the serving certificate; default: none. */
  readonly certificateHosts?: readonly string[];
  /**
   * Serving certificate and key, PEM. Default: a certificate that the server's own authority issues. Clients verify a given certificate with
   * what they know about it: {@link ApiServer.caPem} and kubeconfigs have only the certificate itself.
   */
  readonly serving?: KeyPair;
  /** Authorities of client certificates besides the server's own, PEM. Default: none. */
  readonly clientCaPem?: string;
  /** IPv4 range of cluster IPs in CIDR notation, from /12 to /29. Default: `10.96.0.0/12`. */
  readonly serviceClusterIpRange?: string;
  /** Clock of the server, except for certificates; default: the machine's. With a {@link VirtualClock} a test controls time. */
  readonly clock?: Clock;
  /** Source of randomness, except for keys and certificates; default: the machine's. */
  readonly random?: Random;
  /** Bearer token of the administrator; default: a random one. */
  readonly token?: string;
  /** Name of cluster, user and context in the kubeconfig; default: `embedded`. */
  readonly contextName?: string;
  /**
   * Whether the server's own controllers run: Deployments, ReplicaSets, scheduler, garbage collection, node lifecycle, namespace deletion
   * and others. Default: true. Without them it is as bare as a kube-apiserver without kube-controller-manager: deleted namespaces stay
   * `Terminating`, and dependents and finalizers of protected volumes stay as well.
   */
  readonly controllers?: boolean;
  /**
   * Whether each namespace has its service account `default` and its config map `kube-root-ca.crt`, and pods are given a service account, which
   * must exist. Default: as `controllers`. `false` is like `--disable-admission-plugins=ServiceAccount`, which envtest uses.
   */
  readonly serviceAccounts?: boolean;
  /**
   * Authorization mode: `RBAC` with the Node authorizer and the default roles and bindings, as in most clusters, or `AlwaysAllow` for every
   * authenticated user. The administrator may do everything. Default: `RBAC`.
   */
  readonly authorization?: AuthorizationMode;
  /** Called with errors of controllers; the failed work is retried. Default: errors are ignored. */
  readonly onControllerError?: (error: unknown) => void;
  /**
   * Objects to create at the start, in this order and with their status; `apiVersion` and `kind` are required. Default: none, except those
   * that every cluster has.
   */
  readonly objects?: readonly object[];
  /** Metrics for `kubectl top` and the autoscalers. Default: none; the metrics APIs can also be served by aggregated API servers. */
  readonly metrics?: MetricsSource;
  /** Whether to listen on HTTPS. Without it, {@link ApiServer.transport} is the only access. Default: true. */
  readonly listen?: boolean;
  /** Maximum number of changes kept per kind, from which watches can resume; default: 4096. */
  readonly watchHistory?: number;
  /** Maximum number of changes that wait for a slow reader before its watch is closed; default: 10,000. */
  readonly watchBuffer?: number;
}

/** A running API server. */
export interface ApiServer extends AsyncDisposable {
  /** Such as `https://127.0.0.1:34567`. */
  readonly url: string;
  /** Authority of the serving certificate, PEM. */
  readonly caPem: string;
  /** Bearer token of the administrator. */
  readonly token: string;
  /** Public key that verifies service account tokens, PEM. */
  readonly serviceAccountKeyPem: string;
  /** Issues a client certificate for a user, such as `system:node:n1` in the group `system:nodes`; PEM. */
  issueClientCertificate(user: string, groups?: readonly string[]): KeyPair;
  /** Access to the objects without HTTP, under the same rules. */
  readonly cluster: Cluster;
  /** Injects faults into responses and watches, to test how a client reacts. */
  readonly faults: Faults;
  /** Kubernetes version, as in `/version`. */
  readonly version: string;
  /**
   * Kubeconfig as JSON, which is valid YAML. It contains credentials: keep it private.
   *
   * @param user - user of the kubeconfig, whose certificate is valid for a year; default: the administrator with the token
   */
  kubeconfig(user?: ClientUser): string;
  /** Writes {@link ApiServer.kubeconfig} to a file that only its owner can read. */
  writeKubeconfig(path: string, user?: ClientUser): Promise<void>;
  /**
   * Transport to the server without sockets; shaped like kube-client's `Transport`.
   *
   * @param user - user of the requests; default: the administrator
   */
  transport(user?: ClientUser): InProcessTransport;
  /** Ends all watches and stops listening. The objects are lost. */
  close(): Promise<void>;
}

const historyDefault = 4096;
const bufferDefault = 10_000;

/** Kubernetes version that the server emulates. */
const gitVersion = "v1.36.3-embedded";

/**
 * Starts a Kubernetes API server in this process. Its objects are in memory.
 *
 * @throws Error of Node.js if it cannot listen, such as EADDRINUSE
 */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { clock, random, host, controllers, serviceAccounts, serviceClusterIpRange, metrics } = withDefaults(options);
  const credentials = createServerCredentials({
    // Clients verify certificates by the machine's time.
    clock: backgroundClock,
    host,
    certificateHosts: options.certificateHosts,
    serving: options.serving,
    clientCaPem: options.clientCaPem,
  });
  const { caPem, clientCaPem } = credentials;
  const token = options.token ?? systemRandom.uuid();
  const storage = new Storage({ historyLimit: options.watchHistory ?? historyDefault });
  const kindTable = new KindTable(kinds);
  const registry = new Registry({ clock, random, storage, kindTable, serviceAccounts, serviceClusterIpRange });
  const tokens = new ServiceAccountTokens({ clock, random });
  const watches = new Set<WatchStream>();
  /** Resources that requests depend on. */
  const answering = new Disposables();
  /** Components that change the cluster on their own. */
  const following = new Disposables();
  let server: HttpServer | undefined;
  // Disposed in reverse order of declaration.
  const close = async (): Promise<void> => {
    using _answering = answering;
    await using _server = server;
    using _following = following;
  };
  answering.use(registry.context.compaction);
  const onError = (error: unknown): void => options.onControllerError?.(error);
  const { issueFrontProxy } = credentials;
  const aggregator = answering.use(new Aggregator({ cluster: registry, clock, issueClient: issueFrontProxy, onError }));
  let isStarted = false;
  await using _started = { [Symbol.asyncDispose]: async () => (isStarted ? undefined : close()) };
  const authorizer = answering.use(createAuthorizer(registry.context, options.authorization ?? "RBAC"));
  const serverAddress = (): string => (server === undefined ? "" : `${host.includes(":") ? `[${host}]` : host}:${String(server.port)}`);
  const context: ApiHandlerContext = {
    rest: registry.context,
    clock,
    random,
    tokens,
    authorizer,
    hasControllers: controllers,
    kubelets: answering.use(new KubeletClient(credentials.issueClient(kubeletClientUser, ["system:masters"]))),
    adminToken: token,
    watches,
    watchBufferLimit: options.watchBuffer ?? bufferDefault,
    discovery: (path, query, accept) =>
      discoveryResponse(path, query, accept, {
        kinds: path.startsWith("/apis") ? [...kindTable.all, ...metricsKinds(metrics)] : kindTable.all,
        serverAddress: serverAddress(),
        aggregated: aggregator.isIdle ? undefined : aggregator,
      }),
    serverAddress,
    metrics: (path, query) => metricsResponse({ cluster: registry, clock, source: metrics }, path, query),
    forward: (request, path, user) => aggregator.answer(request, path, user),
    version: versionInfo,
  };
  const faults = answering.use(
    new FaultInjector({
      handle: (request) => handleRequest(context, request),
      clock,
      random,
      whoIs: (request) => authenticate(context, request),
    }),
  );
  const handle: RequestHandler = (request) => faults.handle(request);
  answering.defer(() => watches.forEach((watch) => watch.close()));
  if (options.listen !== false)
    server = await openHttpServer({
      host,
      port: options.port ?? 0,
      serving: credentials.serving,
      clientCaPem,
      handle,
      isForwarded: (url) => aggregator.isForwarded(url),
    });
  const port = server?.port ?? options.port ?? 443;
  const { publishedClientCaPem, frontProxyCaPem } = credentials;
  following.use(bootstrap(registry.context, { host, port, caPem, clientCaPem: publishedClientCaPem, frontProxyCaPem, onError }));
  registry.context.admission.add(...createAdmissionPlugins({ cluster: registry, clock, random, authorizer, resources: answering }));
  following.use(kindTable.watch(({ type, kind }) => type === "REMOVED" && endWatches(watches, kind)));
  following.use(serveCustomResources({ cluster: registry, clock, random, kinds: kindTable, onError }));
  if (controllers) {
    const signer = { authority: credentials.authority, clock: backgroundClock };
    const request = (path: string) =>
      handleRequest(context, { method: "GET", url: path, headers: { authorization: `Bearer ${token}` }, body: new Uint8Array(0) });
    following.use(startControllers(registry.context, { authorizer, signer, request, onError }));
  }
  await loadExpressionsOf(options.objects);
  seedObjects(registry.context, options.objects ?? []);
  isStarted = true;
  const url = urlOf(host, port);
  const kubeconfig = (client?: ClientUser): string => {
    const userCredentials = client === undefined ? { token } : credentials.issueClient(client.user, client.groups ?? []);
    return toKubeconfig({
      server: options.advertisedUrl ?? url,
      caPem,
      credentials: userCredentials,
      name: options.contextName ?? "embedded",
    });
  };
  return {
    url,
    caPem,
    token,
    serviceAccountKeyPem: tokens.publicKeyPem,
    issueClientCertificate: (user, groups = []) => credentials.issueClient(user, groups),
    cluster: registry,
    faults,
    version: gitVersion,
    kubeconfig,
    writeKubeconfig: (path, client) => writePrivateFile(path, kubeconfig(client)),
    transport: (client) => createInProcessTransport(handle, client ?? { token }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** URL at which this machine reaches a server that listens on the host. */
function urlOf(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `https://${reachable.includes(":") ? `[${reachable}]` : reachable}:${String(port)}`;
}

function withDefaults({
  clock = backgroundClock,
  random = systemRandom,
  host = "127.0.0.1",
  controllers = true,
  serviceAccounts = controllers,
  serviceClusterIpRange = defaultServiceRange,
  metrics = {},
}: ApiServerOptions): Pick<
  Required<ApiServerOptions>,
  "clock" | "random" | "host" | "controllers" | "serviceAccounts" | "serviceClusterIpRange" | "metrics"
> {
  return { clock, random, host, controllers, serviceAccounts, serviceClusterIpRange, metrics };
}

/** As on the real server, deleting or changing a definition ends the watches of its custom resources. */
function endWatches(watches: ReadonlySet<WatchStream>, kind: Kind): void {
  for (const watch of watches) if (watch.kind === kind) watch.close();
}

const versionInfo = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "node",
  platform: "node/javascript",
};
