import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import type { Tracer } from "@virtual-kubelet/kube-client";
import {
  createAccessControl,
  createServingCertificate,
  startKubeletServer,
  type AccessControl,
  type ClientCa,
  type KeyPairSource,
  type KubeletServer,
} from "@virtual-kubelet/kubelet-api";
import { Background } from "../background.ts";
import { ms } from "../config/node-options.ts";
import type { LiveNodes } from "../nodes/live-nodes.ts";
import { ConfigError } from "../program-error.ts";
import { isEveryAddress } from "./node-address.ts";
import { openClientCa, openConfiguredKeyPair, openNodeKeyPair, type CertificateOptions, type CertifiedNode } from "./certificate-source.ts";

export interface KubeletServersOptions extends CertificateOptions {
  readonly live: LiveNodes;
  /** The program's own metrics in Prometheus's text format. */
  readonly renderMetrics: () => Promise<string>;
  readonly tracer: Tracer;
}

/**
 * Opens the nodes' HTTPS servers: one for each port, which nodes with the same port share. Disposing closes them.
 *
 * @throws ConfigError for a port that cannot be bound, and for an unusable certificate or CA
 */
export async function openKubeletServers(options: KubeletServersOptions): Promise<AsyncDisposable> {
  const { logger } = options;
  await using opened = new AsyncDisposableStack();
  const background = opened.use(
    new Background((error) => logger.error({ err: messageOf(error) }, "a certificate is no longer kept up to date")),
  );
  const configured = options.loaded.settings.nodes.filter(({ kubeletPort }) => kubeletPort !== 0);
  const groups = Map.groupBy(configured, ({ kubeletPort }) => kubeletPort);
  if (groups.size > 0) {
    tellOfOpenDoors(options);
    const clientCa = await asConfigError(options, ["kubelet", "clientCAFile"], () => openClientCa(options));
    // One for all ports, so that its files are read, and its warnings told, once.
    const configuredPair = await asConfigError(options, ["kubelet", "tlsCertFile"], () => openConfiguredKeyPair(options));
    if (configuredPair) background.start((signal) => configuredPair.run(signal));
    const accessControl = accessControlOf(options, clientCa, background.signal);
    for (const [port, nodes] of groups) {
      const names = nodes.map(({ name }) => name);
      opened.use(await openServer(names, port, { options, clientCa, configuredPair, accessControl, background }));
    }
    background.start((signal) => clientCa.run(signal));
  }
  return opened.move();
}

interface Shared {
  readonly options: KubeletServersOptions;
  readonly clientCa: ClientCa;
  /** The certificate of the configured files; `undefined` if the nodes of each port have one of their own. */
  readonly configuredPair: KeyPairSource | undefined;
  readonly accessControl: AccessControl;
  readonly background: Background;
}

/** @param names - of the nodes in the settings */
async function openServer(names: readonly string[], port: number, shared: Shared): Promise<KubeletServer> {
  const { options, clientCa, configuredPair, accessControl, background } = shared;
  const { loaded, context, logger, metrics, renderMetrics, tracer } = options;
  const { kubelet } = loaded.settings;
  const nodes = options.live.at(port);
  const [first = ""] = names;
  const certified = (): readonly CertifiedNode[] => nodes.map(({ node }) => ({ addresses: () => node.node?.status?.addresses }));
  const pair =
    configuredPair ?? (await asConfigError(options, ["kubelet", "certDirectory"], () => openNodeKeyPair(first, certified, options)));
  let server: KubeletServer;
  try {
    server = await startKubeletServer({
      nodes,
      nodesComeAndGo: true,
      host: isEveryAddress(kubelet.address) ? "" : kubelet.address,
      port,
      accessControl,
      certificate: createServingCertificate(pair, clientCa),
      tls: { minVersion: kubelet.tlsMinVersion, cipherSuites: kubelet.tlsCipherSuites },
      renderMetrics,
      limits: {
        maxStreams: kubelet.maxStreams,
        streaming: { idleMs: ms(kubelet.streamingConnectionIdleTimeout), streamOpenMs: ms(kubelet.streamCreationTimeout) },
      },
      logProblem: () => context.stderr.problem?.(),
      audit: { commands: kubelet.auditCommands, userHeader: kubelet.auditUserHeader },
      clock: context.clock,
      logger,
      metrics,
      tracer,
    });
  } catch (error) {
    const index = loaded.settings.nodes.findIndex(({ name }) => name === first);
    const name = loaded.nameOf(["nodes", index, "kubeletPort"]);
    throw new ConfigError(
      `${name}: ${port}: cannot serve the kubelet's API on ${kubelet.address}: ${messageOf(error)}; choose another port, or 0 to disable it`,
      { cause: error },
    );
  }
  if (!configuredPair) background.start((signal) => pair.run(signal));
  logger.info({ address: kubelet.address, port: server.port, nodes: names.join(", ") }, "serving the kubelet's API");
  return server;
}

function accessControlOf(
  { loaded, client, context, metrics }: KubeletServersOptions,
  clientCa: ClientCa,
  lifetime: AbortSignal,
): AccessControl {
  const { kubelet } = loaded.settings;
  return createAccessControl({
    clientCa,
    tokens: kubelet.authenticationTokenWebhook,
    tokenTtlMs: ms(kubelet.authenticationTokenWebhookCacheTTL),
    anonymous: kubelet.anonymousAuth,
    authorizationMode: kubelet.authorizationMode,
    allowedTtlMs: ms(kubelet.authorizationWebhookCacheAuthorizedTTL),
    deniedTtlMs: ms(kubelet.authorizationWebhookCacheUnauthorizedTTL),
    client,
    clock: context.clock,
    random: context.random,
    metrics,
    lifetime,
  });
}

function tellOfOpenDoors({ loaded, logger }: KubeletServersOptions): void {
  const { anonymousAuth, authorizationMode } = loaded.settings.kubelet;
  if (authorizationMode === "AlwaysAllow" && anonymousAuth) {
    logger.warn(
      {},
      "INSECURE: everybody who can reach the kubelet's API may run commands in every pod (--anonymous-auth, --authorization-mode=AlwaysAllow)",
    );
  } else if (authorizationMode === "AlwaysAllow") {
    logger.warn({}, "INSECURE: everybody with credentials of the cluster may run commands in every pod (--authorization-mode=AlwaysAllow)");
  } else if (anonymousAuth) {
    logger.warn({}, "callers without credentials may do everything that the cluster allows system:anonymous (--anonymous-auth)");
  }
}

async function asConfigError<T>({ loaded }: CertificateOptions, path: readonly string[], open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!isInvalidInput(error)) throw error;
    throw new ConfigError(`${loaded.nameOf(path)}: ${messageOf(error)}`, { cause: error });
  }
}
