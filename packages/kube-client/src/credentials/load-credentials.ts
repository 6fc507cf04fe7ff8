import type { Clock } from "@virtual-kubelet/clock";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { Credentials, Identity, TlsMaterial } from "./credentials.ts";
import { environmentProxy } from "../transport/environment-proxy.ts";
import { FileCredentials } from "./file-credentials.ts";
import { readKubeconfig } from "./kubeconfig.ts";

/** Folder of a pod's service account. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Sources of credentials. */
export interface LoadCredentialsOptions {
  /** A kubeconfig file; takes precedence over `KUBECONFIG`. */
  readonly kubeconfig?: string | undefined;
  /** Default: the kubeconfig's `current-context`. */
  readonly context?: string | undefined;
  /**
   * The process's environment. Variables used: `KUBECONFIG`, `HOME`, `KUBERNETES_SERVICE_HOST` and `_PORT`, and `HTTPS_PROXY`, `HTTP_PROXY` and
   * `NO_PROXY` if the kubeconfig names no proxy.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/**
 * Finds the cluster and the user's credentials: from the given kubeconfig, otherwise those of `KUBECONFIG`, otherwise the
 * service account of the program's own pod, otherwise `~/.kube/config`.
 *
 * @throws InvalidInputError if there are none, or they are invalid
 */
export async function loadCredentials(options: LoadCredentialsOptions): Promise<Credentials> {
  const { clock, context, env, kubeconfig } = options;
  if (kubeconfig) return readKubeconfig({ files: [existing(kubeconfig, "--kubeconfig")], context, env, clock });
  if (env["KUBECONFIG"]) {
    const files = env["KUBECONFIG"].split(delimiter).filter(Boolean);
    const found = files.filter((file) => existsSync(file));
    if (found.length === 0) throw new InvalidInputError(`KUBECONFIG: none of ${files.join(", ")} exists: name a kubeconfig, or unset it`);
    return readKubeconfig({ files: found, context, env, clock });
  }
  if (env["KUBERNETES_SERVICE_HOST"] && !context) return inClusterCredentials({ env, clock });
  const home = join(env["HOME"] ?? "", ".kube/config");
  if (existsSync(home)) return readKubeconfig({ files: [home], context, env, clock });
  throw new InvalidInputError(
    `no cluster to talk to: name a kubeconfig with --kubeconfig or KUBECONFIG; there is none at ${home}, and this program does not run in a pod`,
  );
}

/**
 * Returns the credentials of the program's own pod. Token and authority are read again every minute. `HTTPS_PROXY` and `NO_PROXY`
 * are used, as by every client in a pod.
 *
 * @throws InvalidInputError outside of a pod, or for an invalid proxy
 */
export function inClusterCredentials({ env, clock }: Pick<LoadCredentialsOptions, "env" | "clock">): Credentials {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (!host)
    throw new InvalidInputError(
      "in-cluster credentials: KUBERNETES_SERVICE_HOST is not set, so this program does not run in a pod; set a kubeconfig",
    );
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new FileCredentials({
    server,
    proxy: environmentProxy(server, env),
    ca: { file: join(serviceAccountFolder, "ca.crt") },
    token: { file: join(serviceAccountFolder, "token") },
    clock,
  });
}

/** Options of {@link fixedCredentials}. */
export interface FixedCredentialsOptions {
  /** URL of the API server. */
  readonly server: string;
  readonly tls: TlsMaterial;
  /** Bearer token. Default: none. */
  readonly token?: string | undefined;
  /** URL of the proxy. Default: the environment's. */
  readonly proxy?: string | undefined;
  /** The process's environment, for `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns credentials that never change, such as those of a bootstrap token. @throws InvalidInputError for an invalid proxy */
export function fixedCredentials({ server, tls, token, proxy, env }: FixedCredentialsOptions): Credentials {
  const identity: Identity = { tls, authorization: token === undefined ? undefined : `Bearer ${token}` };
  return {
    server: server.replace(/\/+$/, ""),
    proxy: proxy ?? environmentProxy(server, env)?.href,
    current: (signal) => {
      signal.throwIfAborted();
      return Promise.resolve(identity);
    },
    refresh: () => Promise.resolve(),
  };
}

function existing(file: string, source: string): string {
  if (!existsSync(file)) throw new InvalidInputError(`${source}: there is no file ${file}, expected a kubeconfig`);
  return file;
}
