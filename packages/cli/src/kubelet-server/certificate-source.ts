import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, KubeClient, Logger, Metrics, NodeAddress } from "@virtual-kubelet/kube-client";
import {
  ClientCaConfigMap,
  noCertificateStore,
  openCertificateDirectory,
  openCertificateFiles,
  openCertificateManager,
  openClientCaFile,
  servingNamesOf,
  type CertificateStore,
  type ClientCa,
  type KeyPairSource,
} from "@virtual-kubelet/kubelet-api";
import type { LoadedSettings } from "../config/load-settings.ts";
import type { Context } from "../context.ts";
import { certDirectoryOf } from "./cert-directory.ts";

export interface CertificateOptions {
  readonly loaded: LoadedSettings;
  readonly client: KubeClient;
  readonly context: Context;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A node to serve, with a certificate for its addresses. */
export interface CertifiedNode {
  /** Addresses in the Node's status; `undefined` while the node is not registered. */
  addresses(): readonly DeepReadonly<NodeAddress>[] | undefined;
}

/** The client CA of the configured file, or else the one that the cluster publishes. @throws InvalidInputError for an unusable file */
export async function openClientCa(options: CertificateOptions): Promise<ClientCa> {
  const { client, context, logger, metrics } = options;
  const { clock, random } = context;
  return (await openConfiguredClientCa(options)) ?? new ClientCaConfigMap({ client, clock, random, logger, metrics });
}

/** The client CA of the configured file; `undefined` if none is configured. @throws InvalidInputError for an unusable file */
export async function openConfiguredClientCa(
  options: Pick<CertificateOptions, "loaded" | "context" | "logger">,
): Promise<ClientCa | undefined> {
  const { loaded, context, logger } = options;
  const { clientCAFile } = loaded.settings.kubelet;
  if (clientCAFile === undefined) return undefined;
  return await openClientCaFile({ path: loaded.resolvePath(["kubelet", "clientCAFile"], clientCAFile), clock: context.clock, logger });
}

/** The certificate of the configured files; `undefined` if none are configured. @throws InvalidInputError for unusable files */
export async function openConfiguredKeyPair(
  options: Pick<CertificateOptions, "loaded" | "context" | "logger" | "metrics">,
): Promise<KeyPairSource | undefined> {
  const { loaded, context, logger, metrics } = options;
  const { tlsCertFile, tlsPrivateKeyFile } = loaded.settings.kubelet;
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) return undefined;
  const certificateFile = loaded.resolvePath(["kubelet", "tlsCertFile"], tlsCertFile);
  const keyFile = loaded.resolvePath(["kubelet", "tlsPrivateKeyFile"], tlsPrivateKeyFile);
  return await openCertificateFiles({ certificateFile, keyFile, clock: context.clock, logger, metrics });
}

/**
 * The certificate that the nodes of a port request or sign themselves. Several nodes share one, in the name of the first in the settings and
 * for the addresses of all.
 *
 * @param nodes - read again for each certificate
 * @throws InvalidInputError for an unusable folder
 */
export async function openNodeKeyPair(
  nodeName: string,
  nodes: () => readonly CertifiedNode[],
  options: CertificateOptions,
): Promise<KeyPairSource> {
  const { loaded, client, context, logger, metrics } = options;
  const { clock, random } = context;
  const { serverTLSBootstrap } = loaded.settings.kubelet;
  const nodeLogger = logger.child({ node: nodeName });
  return await openCertificateManager({
    nodeName,
    names: () => {
      const known = nodes().flatMap((node) => node.addresses() ?? []);
      return known.length === 0 ? undefined : servingNamesOf(known);
    },
    bootstrap: serverTLSBootstrap,
    store: await openStore(nodeName, nodeLogger, options),
    client,
    clock,
    random,
    logger: nodeLogger,
    metrics,
  });
}

/** A configured folder must be usable. The default one may be read-only, as in a container. */
async function openStore(nodeName: string, logger: Logger, { loaded, context }: CertificateOptions): Promise<CertificateStore> {
  const { directory, isChosen } = certDirectoryOf(nodeName, loaded, context);
  try {
    return await openCertificateDirectory(directory, nodeName, logger);
  } catch (error) {
    if (isChosen || !isInvalidInput(error)) throw error;
    logger.warn({ err: messageOf(error) }, "the serving certificate cannot be stored, so each restart makes a new request; set --cert-dir");
    return noCertificateStore;
  }
}
