import { backgroundClock, systemRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import { type AuthorizationMode, createAuthorizer } from "./authorization/authorizer.ts";
import { createBootstrapPolicy } from "./authorization/bootstrap-policy.ts";
import { bootstrap } from "./bootstrap/bootstrap.ts";
import { maintainNamespaceDefaults } from "./bootstrap/namespace-defaults.ts";
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
import { authenticate } from "./http/authentication.ts";
import { openHttpServer, type HttpServer } from "./http/http-server.ts";
import { createInProcessTransport, type InProcessTransport } from "./clients/in-process-transport.ts";
import { toKubeconfig, writePrivateFile, type ClientUser } from "./clients/kubeconfig.ts";
import type { Kind } from "./kinds/kind.ts";
import { KubeletClient, kubeletClientUser } from "./kubelet-proxy/kubelet-client.ts";
import { KindTable } from "./kinds/kind-table.ts";
import { kinds } from "./kinds/index.ts";
import { runNamespaceDeletion } from "./controllers/namespace/namespace-deletion.ts";
import { Registry } from "./rest/registry.ts";
import { seedObjects } from "./bootstrap/seed-objects.ts";
import { ServiceAccountTokens } from "./service-account-token.ts";
import { Storage } from "./storage/storage.ts";
import type { WatchStream } from "./storage/watch.ts";

/** How the server is started. Everything has a default that fits a test. */
export interface ApiServerOptions {
  /** Default: 0, any free port. */
  readonly port?: number;
  /** The address to listen on; default: 127.0.0.1. */
  readonly host?: string;
  /** Further names and addresses the serving certificate is valid for. */
  readonly certificateHosts?: readonly string[];
  /**
   * What all time in the server goes by, certificates excepted; default: the machine's. A {@link VirtualClock} lets a
   * test decide how much passes.
   */
  readonly clock?: Clock;
  /** Default: the machine's. The keys and certificates never come from it. */
  readonly random?: Random;
  /** The administrator's bearer token; default: a random one. */
  readonly token?: string;
  /** Name of cluster, user and context in the kubeconfig; default: `embedded`. */
  readonly contextName?: string;
  /**
   * Whether the server's own controllers run: Deployments, ReplicaSets, scheduler, garbage collection, node life cycle,
   * deletion of namespaces. Default: true. Without them it is a bare API server.
   */
  readonly controllers?: boolean;
  /**
   * How requests are authorized: `RBAC`, as most clusters do it, with the Node authorizer in front and the usual roles
   * and bindings; or `AlwaysAllow` whoever is authenticated. The administrator may do everything. Default: `RBAC`.
   */
  readonly authorization?: AuthorizationMode;
  /** Told of controllers' work that failed and is tried again; default: nobody is. */
  readonly onControllerError?: (error: unknown) => void;
  /**
   * Objects to start with, as in manifests, with `apiVersion` and `kind`: created in this order, with their status.
   * Default: none, besides what every cluster has.
   */
  readonly objects?: readonly object[];
  /** Whether HTTPS is served; without it only {@link ApiServer.transport} leads in. Default: true. */
  readonly listen?: boolean;
  /** Changes of each kind that are kept for watches to resume from; default: 4096. */
  readonly watchHistory?: number;
  /** Changes that may wait for a slow reader of a watch before it is closed; default: 10,000. */
  readonly watchBuffer?: number;
}

/** A running API server. */
export interface ApiServer extends AsyncDisposable {
  /** Such as `https://127.0.0.1:34567`. */
  readonly url: string;
  /** The authority of its serving certificate, PEM. */
  readonly caPem: string;
  /** The administrator's bearer token. */
  readonly token: string;
  /** The public key that service-account tokens can be checked with, PEM. */
  readonly serviceAccountKeyPem: string;
  /** A client certificate for a user, such as `system:node:n1` of the group `system:nodes`; PEM. */
  issueClientCertificate(user: string, groups?: readonly string[]): { readonly certificatePem: string; readonly privateKeyPem: string };
  /** The objects, with the server's rules, without HTTP. */
  readonly cluster: Cluster;
  /** Breaks answers and watches, for tests of what a client does then. */
  readonly faults: Faults;
  /** The Kubernetes version it speaks, as `/version` says it. */
  readonly version: string;
  /**
   * A kubeconfig, in JSON, which is YAML, too. It holds a credential: keep it private.
   *
   * @param user - whom it is for, with a certificate of a year; default: the administrator, with the token
   */
  kubeconfig(user?: ClientUser): string;
  /** Writes {@link ApiServer.kubeconfig} to a file that only its owner can read. */
  writeKubeconfig(path: string, user?: ClientUser): Promise<void>;
  /**
   * A way to the server without sockets; the same shape as kube-client's `Transport`.
   *
   * @param user - for whom it acts; default: the administrator
   */
  transport(user?: ClientUser): InProcessTransport;
  /** Ends the watches and stops listening. Objects are gone with the server. */
  close(): Promise<void>;
}

const historyDefault = 4096;
const bufferDefault = 10_000;

/** The Kubernetes version whose behaviour is copied. */
const gitVersion = "v1.36.3-embedded";

/**
 * Starts a Kubernetes API server in this process. Its objects are in memory.
 *
 * @throws Error of node if it cannot listen, such as EADDRINUSE
 */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { clock = backgroundClock, random = systemRandom, host = "127.0.0.1" } = options;
  const credentials = createServerCredentials({
    // Whoever checks a certificate does so by the machine's time.
    clock: backgroundClock,
    random: systemRandom,
    hosts: [
      ...new Set([
        host,
        "localhost",
        "127.0.0.1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        ...(options.certificateHosts ?? []),
      ]),
    ],
  });
  const caPem = credentials.authority.certificatePem;
  const token = options.token ?? systemRandom.uuid();
  const storage = new Storage({ historyLimit: options.watchHistory ?? historyDefault });
  const kindTable = new KindTable(kinds);
  const registry = new Registry({ clock, random, storage, kindTable });
  const tokens = new ServiceAccountTokens({ clock, random });
  const watches = new Set<WatchStream>();
  /** What answers to requests are made with. */
  const answering = new Disposables();
  /** What follows the cluster and changes it by itself. */
  const following = new Disposables();
  let server: HttpServer | undefined;
  // Ends what is declared last first.
  const close = async (): Promise<void> => {
    using _answering = answering;
    await using _server = server;
    using _following = following;
  };
  let isStarted = false;
  await using _started = { [Symbol.asyncDispose]: async () => (isStarted ? undefined : close()) };
  const authorizer = answering.use(createAuthorizer(registry.context, options.authorization ?? "RBAC"));
  const context: ApiHandlerContext = {
    rest: registry.context,
    clock,
    random,
    tokens,
    authorizer,
    kubelets: answering.use(new KubeletClient(credentials.issueClient(kubeletClientUser, ["system:masters"]))),
    adminToken: token,
    watches,
    watchBufferLimit: options.watchBuffer ?? bufferDefault,
    discovery: (path, query, accept) => discoveryResponse(path, query, accept, kindTable.all),
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
    server = await openHttpServer({ host, port: options.port ?? 0, serving: credentials.serving, clientCaPem: caPem, handle });
  const port = server?.port ?? options.port ?? 443;
  bootstrap(registry, { port, caPem });
  createBootstrapPolicy(registry);
  following.use(kindTable.watch(({ type, kind }) => type === "REMOVED" && endWatches(watches, kind)));
  following.use(serveCustomResources({ cluster: registry, clock, kinds: kindTable }));
  following.use(maintainNamespaceDefaults(registry, caPem));
  if (options.controllers !== false) {
    following.use(runNamespaceDeletion(registry.context, registry));
    following.use(
      startControllers(registry, {
        clock,
        random,
        authorizer,
        signer: { authority: credentials.authority, random: systemRandom, clock: backgroundClock },
        ...(options.onControllerError === undefined ? {} : { onError: options.onControllerError }),
      }),
    );
  }
  seedObjects(registry.context, options.objects ?? []);
  isStarted = true;
  const url = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const kubeconfig = (client?: ClientUser): string => {
    const userCredentials = client === undefined ? { token } : credentials.issueClient(client.user, client.groups ?? []);
    return toKubeconfig({ server: url, caPem, credentials: userCredentials, name: options.contextName ?? "embedded" });
  };
  return {
    url,
    caPem,
    token,
    serviceAccountKeyPem: tokens.publicKeyPem,
    issueClientCertificate: (user, groups = []) => {
      const { certificatePem, privateKeyPem } = credentials.issueClient(user, groups);
      return { certificatePem, privateKeyPem };
    },
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

/** A definition that goes or changes ends the watches of its custom resources, as on the real server. */
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
