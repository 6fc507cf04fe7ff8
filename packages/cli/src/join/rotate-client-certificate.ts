import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import type { Logger, Metrics } from "@virtual-kubelet/kube-client";
import { clientCertificatePath, openClientCertificateManager, openClientCertificateStore } from "@virtual-kubelet/kubelet-api";
import { Background } from "../background.ts";
import type { LoadedSettings } from "../config/load-settings.ts";
import type { Connection } from "../connect.ts";
import type { Context } from "../context.ts";
import { ConfigError } from "../program-error.ts";
import { joinedNode } from "./joined-node.ts";

/** Dependencies of {@link rotateClientCertificate}. */
export interface RotationOptions {
  readonly nodeNames: readonly string[];
  readonly loaded: LoadedSettings;
  readonly connection: Pick<Connection, "client" | "credentials">;
  readonly context: Context;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Renews the client certificate of the connection until disposed, if it is one that `join` made: the kubeconfig names the file in the folder
 * of a node's certificates. Other certificates are renewed by whoever made them.
 *
 * @returns `undefined` if there is nothing to renew
 * @throws ConfigError if the certificate has expired, or is another node's
 */
export async function rotateClientCertificate(options: RotationOptions): Promise<AsyncDisposable | undefined> {
  const { connection, context, loaded, metrics } = options;
  const { credentials, client } = connection;
  const { certificateFile } = credentials;
  const joined = loaded.settings.kubelet.rotateCertificates ? await joinedNode({ ...options, certificateFile }) : undefined;
  if (!joined) return undefined;
  const { nodeName, directory } = joined;
  const { clock, random } = context;
  const logger = options.logger.child({ node: nodeName });
  const onRotated = (signal: AbortSignal): Promise<void> => credentials.refresh(signal);
  try {
    const store = await openClientCertificateStore(directory, logger);
    const manager = await openClientCertificateManager({ nodeName, store, client, clock, random, logger, metrics, onRotated });
    const { expiresMs } = manager;
    if (expiresMs <= clock.now()) throw new ConfigError(expired(nodeName, directory, expiresMs));
    const background = new Background((error) =>
      logger.error({ err: messageOf(error) }, "the client certificate is no longer kept up to date"),
    );
    background.start((signal) => manager.run(signal));
    return background;
  } catch (error) {
    if (isInvalidInput(error)) throw new ConfigError(messageOf(error).replaceAll("\n", " "), { cause: error });
    throw error;
  }
}

function expired(nodeName: string, directory: string, expiresMs: number): string {
  const file = clientCertificatePath(directory);
  return `${file}: the client certificate of node ${nodeName} has expired (${new Date(expiresMs).toUTCString()}): join the cluster again with virtual-kubelet join`;
}
