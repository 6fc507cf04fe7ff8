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

/** What certificates need besides the settings. */
export interface CertificateDeps {
  readonly loaded: LoadedSettings;
  readonly client: KubeClient;
  readonly context: Context;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A node whose certificate is wanted. */
export interface CertifiedNode {
  readonly name: string;
  /** Its addresses at the API server; `undefined` while it is not registered. */
  addresses(): readonly DeepReadonly<NodeAddress>[] | undefined;
}

/** Whose client certificates count: those of a file, else of what the cluster publishes. @throws InvalidInputError for a file that is of no use */
export async function openClientCa(deps: CertificateDeps): Promise<ClientCa> {
  const { client, context, logger, metrics } = deps;
  const { clock, random } = context;
  return (await openConfiguredClientCa(deps)) ?? new ClientCaConfigMap({ client, clock, random, logger, metrics });
}

/** The authority that a file names; `undefined` if none does. @throws InvalidInputError for a file that is of no use */
export async function openConfiguredClientCa(deps: Pick<CertificateDeps, "loaded" | "context" | "logger">): Promise<ClientCa | undefined> {
  const { loaded, context, logger } = deps;
  const { clientCAFile } = loaded.settings.kubelet;
  if (clientCAFile === undefined) return undefined;
  return await openClientCaFile({ path: loaded.resolvePath(["kubelet", "clientCAFile"], clientCAFile), clock: context.clock, logger });
}

/** The certificate that files name; `undefined` if none do. @throws InvalidInputError for files that are of no use */
export async function openConfiguredKeyPair(
  deps: Pick<CertificateDeps, "loaded" | "context" | "logger" | "metrics">,
): Promise<KeyPairSource | undefined> {
  const { loaded, context, logger, metrics } = deps;
  const { tlsCertFile, tlsPrivateKeyFile } = loaded.settings.kubelet;
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) return undefined;
  const certificateFile = loaded.resolvePath(["kubelet", "tlsCertFile"], tlsCertFile);
  const keyFile = loaded.resolvePath(["kubelet", "tlsPrivateKeyFile"], tlsPrivateKeyFile);
  return await openCertificateFiles({ certificateFile, keyFile, clock: context.clock, logger, metrics });
}

/**
 * The certificate of files, else one that nodes of one port make themselves. Where they are several it is asked for in
 * the name of the first, for the addresses of all.
 *
 * @throws InvalidInputError for a file or folder that is of no use
 */
export async function openKeyPair(nodes: readonly CertifiedNode[], deps: CertificateDeps): Promise<KeyPairSource> {
  const { loaded, client, context, logger, metrics } = deps;
  const { clock, random } = context;
  const { serverTLSBootstrap } = loaded.settings.kubelet;
  const configured = await openConfiguredKeyPair(deps);
  if (configured) return configured;
  const nodeName = nodes[0]?.name ?? "";
  const nodeLogger = logger.child({ node: nodeName });
  return await openCertificateManager({
    nodeName,
    names: () => {
      const known = nodes.flatMap((node) => node.addresses() ?? []);
      return known.length === 0 ? undefined : servingNamesOf(known);
    },
    bootstrap: serverTLSBootstrap,
    store: await openStore(nodeName, nodeLogger, deps),
    client,
    clock,
    random,
    logger: nodeLogger,
    metrics,
  });
}

/** The folder that was chosen must do; the default one may be read-only, as in a container. */
async function openStore(nodeName: string, logger: Logger, { loaded, context }: CertificateDeps): Promise<CertificateStore> {
  const { directory, isChosen } = certDirectoryOf(nodeName, loaded, context);
  try {
    return await openCertificateDirectory(directory, nodeName, logger);
  } catch (error) {
    if (isChosen || !isInvalidInput(error)) throw error;
    logger.warn(
      { err: messageOf(error) },
      "the serving certificate is not kept, and each restart makes a new request; --cert-dir names a folder",
    );
    return noCertificateStore;
  }
}
