import { DeadlineExceededError, isForbidden, isInvalidInput, isUnauthorized, messageOf } from "@virtual-kubelet/errdefs";
import { loadCredentials, noMetrics, type Logger, type TlsMaterial } from "@virtual-kubelet/kube-client";
import {
  bootstrapClientCertificate,
  certificateOf,
  certificateUser,
  clientCertificatePath,
  openClientCertificateStore,
  writePrivateFile,
  type CertificateStore,
  type StoredCertificates,
  type SubmittedRequest,
} from "@virtual-kubelet/kubelet-api";
import type { KeyPair } from "@virtual-kubelet/pki";
import { X509Certificate } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { withDeadline } from "@virtual-kubelet/async";
import { makeDirectory } from "@virtual-kubelet/core";
import { readText } from "../config/read-file.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { ownUser } from "../own-user.ts";
import { ConfigError, ProgramError } from "../program-error.ts";
import { pinsOf } from "./ca-pins.ts";
import { discoverCluster } from "./discover-cluster.ts";
import type { JoinOptions } from "./join-options.ts";
import type { ClientTarget, OpenJoiningClient } from "./joining-client.ts";
import { nodeKubeconfig, overwriteProblem } from "./node-kubeconfig.ts";

/** Result of {@link joinCluster}. */
export interface JoinResult {
  readonly node: string;
  /** URL of the API server. */
  readonly server: string;
  /** `kept`: the node had a valid certificate. */
  readonly outcome: "issued" | "kept";
  /** Name of the request; absent if the certificate was kept. */
  readonly certificateSigningRequest?: string | undefined;
  /** File with the certificate and its key. */
  readonly certificate: string;
  /** RFC 3339. */
  readonly notAfter: string;
  readonly kubeconfig: string;
}

/** Dependencies of {@link joinCluster}. */
export interface JoinDependencies {
  readonly context: Pick<Context, "clock" | "random" | "env">;
  readonly openClient: OpenJoiningClient;
  readonly logger: Logger;
  /** Receives a line for each step, for people. */
  readonly say: (line: string) => void;
}

/** Where the cluster is, and who requests the certificate. */
interface Cluster {
  readonly server: string;
  /** Without a client's certificate. */
  readonly tls: TlsMaterial;
  readonly proxy: string | undefined;
  readonly requester: ClientTarget;
}

/**
 * Gets a node's credentials: finds the cluster, requests a certificate of `system:node:NAME`, waits until it is signed, and writes a
 * kubeconfig. A valid certificate of the node is kept. Nothing is written or sent to the cluster before the options have been checked.
 *
 * @throws ConfigError if the credentials of another node, or another's kubeconfig, would be overwritten; ProgramError if there is no
 * certificate in the end; `signal.reason`
 */
export async function joinCluster(options: JoinOptions, dependencies: JoinDependencies, signal: AbortSignal): Promise<JoinResult> {
  const { clock } = dependencies.context;
  const { timeoutMs } = options;
  const joining = new Joining(options, dependencies);
  try {
    if (timeoutMs === undefined) return await joining.run(signal);
    return await withDeadline({ clock, timeoutMs, what: "join the cluster" }, signal, (inner) => joining.run(inner));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProgramError) throw error;
    if (error instanceof DeadlineExceededError) throw joining.timeoutError(error);
    const code = isInvalidInput(error) ? exitCodes.config.code : exitCodes.failure.code;
    throw new ProgramError(messageOf(error).replaceAll("\n", " "), joining.isStarted ? exitCodes.failure.code : code, { cause: error });
  }
}

class Joining {
  readonly #options: JoinOptions;
  readonly #dependencies: JoinDependencies;
  readonly #certificateFile: string;
  /** The undecided request. */
  #request: SubmittedRequest | undefined;
  isStarted = false;

  constructor(options: JoinOptions, dependencies: JoinDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#certificateFile = clientCertificatePath(options.directory);
  }

  async run(signal: AbortSignal): Promise<JoinResult> {
    const { directory, kubeconfig, nodeName } = this.#options;
    const { logger, say } = this.#dependencies;
    await this.#checkKubeconfig();
    const store = await openClientCertificateStore(directory, logger);
    const stored = await this.#load(store);
    this.isStarted = true;
    const cluster = await this.#findCluster(signal);
    const kept = await this.#validCertificate(stored, cluster, signal);
    if (kept) say(`certificate: ${this.#certificateFile} is valid until ${kept.validTo}, and is kept; --force replaces it`);
    const certificate = kept ?? (await this.#requestCertificate(store, cluster, signal));
    await makeDirectory(dirname(kubeconfig), 0o700);
    const { server, tls, proxy } = cluster;
    await writePrivateFile(kubeconfig, await nodeKubeconfig({ nodeName, server, tls, proxy, certificateFile: this.#certificateFile }));
    say(`kubeconfig: ${kubeconfig}`);
    return {
      node: nodeName,
      server,
      outcome: kept ? "kept" : "issued",
      certificateSigningRequest: this.#request?.name,
      certificate: this.#certificateFile,
      notAfter: certificate.validToDate.toISOString(),
      kubeconfig,
    };
  }

  timeoutError(cause: Error): ProgramError {
    const limit = `within ${(this.#options.timeoutMs ?? 0) / 1000} s (--timeout)`;
    const message = this.#request
      ? `${this.#request.name}: the request was not decided ${limit}; approve it with: kubectl certificate approve ${this.#request.name}; the same command then continues with it`
      : `no answer from the cluster ${limit}`;
    return new ProgramError(message, exitCodes.failure.code, { cause });
  }

  async #checkKubeconfig(): Promise<void> {
    const { force, kubeconfig } = this.#options;
    const isFolder = (await stat(kubeconfig).catch(() => undefined))?.isDirectory() ?? false;
    if (isFolder) throw new ConfigError(`--kubeconfig: ${kubeconfig}: it is a folder, expected a file`);
    const problem = force ? undefined : await overwriteProblem(kubeconfig, this.#certificateFile);
    if (problem === undefined) return;
    throw new ConfigError(`--kubeconfig: ${kubeconfig}: ${problem}: choose another file, or overwrite it with --force`);
  }

  /** The present credentials, which must be the node's own. */
  async #load(store: CertificateStore): Promise<StoredCertificates> {
    const { force, nodeName } = this.#options;
    let stored: StoredCertificates;
    try {
      stored = await store.load();
    } catch (error) {
      if (!force) throw error;
      await rm(this.#certificateFile, { force: true });
      return await store.load();
    }
    if (!stored.issued || force) return stored;
    const user = certificateUser(this.#readable(stored.issued));
    if (user.name === `system:node:${nodeName}`) return stored;
    throw new ConfigError(
      `${this.#certificateFile}: it holds the credentials of ${user.name ?? "an unknown user"}, expected system:node:${nodeName} or no file: choose another --cert-dir, or replace them with --force`,
    );
  }

  #readable(pair: KeyPair): X509Certificate {
    try {
      return certificateOf(pair);
    } catch (error) {
      const problem = messageOf(error).replaceAll("\n", " ");
      throw new ConfigError(`${this.#certificateFile}: ${problem}: replace it with --force, or choose another --cert-dir`, {
        cause: error,
      });
    }
  }

  async #findCluster(signal: AbortSignal): Promise<Cluster> {
    const { discovery } = this.#options;
    const { say } = this.#dependencies;
    if (discovery.kind === "file") return await this.#clusterOfFile(discovery.file, signal);
    const { server, token } = discovery;
    const bearer = `${token.id}.${token.secret}`;
    if (discovery.kind === "authority") {
      const ca = await readAuthority(discovery.caFile);
      say(`cluster: ${server}, with the authority in ${discovery.caFile}`);
      return { server, tls: { ca }, proxy: undefined, requester: { server, tls: { ca }, token: bearer } };
    }
    const { context, openClient } = this.#dependencies;
    const { pins } = discovery;
    const found = await discoverCluster({ server, token, pins, openClient, clock: context.clock, say }, signal);
    const authority = pins.length > 0 ? "the given hash" : `the hash ${pinsOf(found.ca).join(", ")}, which was not checked`;
    say(`cluster: ${found.server}; its cluster-info is signed with the token ${token.id}, and its authority has ${authority}`);
    const tls = { ca: found.ca };
    return { server: found.server, tls, proxy: undefined, requester: { server: found.server, tls, token: bearer } };
  }

  async #clusterOfFile(file: string, signal: AbortSignal): Promise<Cluster> {
    const { discovery } = this.#options;
    const { context, say } = this.#dependencies;
    // First, so that the error names the setting.
    await readText({ path: file, shown: file, setting: "--discovery-file" });
    const credentials = await loadCredentials({ kubeconfig: file, env: context.env, clock: context.clock });
    const { tls, authorization } = await credentials.current(signal);
    const { server, proxy } = credentials;
    const { ca, serverName, insecureSkipVerify } = tls;
    const bare = { ca, serverName, insecureSkipVerify };
    const bearer = authorization?.startsWith("Bearer ") ? authorization.slice("Bearer ".length) : undefined;
    if (discovery.token === undefined && bearer === undefined && tls.certificate === undefined)
      throw new ConfigError(`--discovery-file: ${file}: its user has neither a token nor a certificate: add --token`);
    say(`cluster: ${server}, from ${file}`);
    const requester = discovery.token
      ? { server, tls: bare, proxy, token: `${discovery.token.id}.${discovery.token.secret}` }
      : { server, tls, proxy, token: bearer };
    return { server, tls: bare, proxy, requester };
  }

  /** The present certificate if it is valid and the cluster accepts it. */
  async #validCertificate(
    { issued }: StoredCertificates,
    { server, tls, proxy }: Cluster,
    signal: AbortSignal,
  ): Promise<X509Certificate | undefined> {
    const { force, nodeName } = this.#options;
    const { context, openClient, say } = this.#dependencies;
    if (!issued || force) return undefined;
    const certificate = new X509Certificate(issued.certificate);
    if (certificate.validToDate.getTime() <= context.clock.now()) {
      say(`certificate: ${this.#certificateFile} has expired (${certificate.validTo}), and will be replaced`);
      return undefined;
    }
    await using opened = openClient({ server, proxy, tls: { ...tls, certificate: issued.certificate, key: issued.key } });
    let user: string | undefined;
    try {
      user = await ownUser(opened.client, signal);
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
    }
    if (user === `system:node:${nodeName}`) return certificate;
    throw new ConfigError(
      `${this.#certificateFile}: ${server} does not accept this certificate, so it is probably of another cluster: choose another --cert-dir, or replace it with --force`,
    );
  }

  /** The requester may not request certificates. */
  #forbiddenError(cause: unknown, { token }: ClientTarget): ProgramError {
    const { discovery } = this.#options;
    const subject = discovery.token !== undefined && token !== undefined ? "--group=system:bootstrappers" : "--user=USER";
    const grant = `kubectl create clusterrolebinding virtual-kubelet-join --clusterrole=system:node-bootstrapper ${subject}`;
    return new ProgramError(
      `${messageOf(cause).replaceAll("\n", " ")}; an administrator allows it with: ${grant}`,
      exitCodes.failure.code,
      { cause },
    );
  }

  async #requestCertificate(store: CertificateStore, { requester }: Cluster, signal: AbortSignal): Promise<X509Certificate> {
    const { nodeName, timeoutMs } = this.#options;
    const { context, logger, openClient, say } = this.#dependencies;
    const { clock, random } = context;
    await using opened = openClient(requester);
    const onRequested = (request: SubmittedRequest, isResumed: boolean): void => {
      this.#request = request;
      say(`request: ${request.name}, ${isResumed ? "continued from an earlier attempt" : "new"}, made by ${request.username}`);
      const limit = timeoutMs === undefined ? "" : ` at most ${timeoutMs / 1000} s`;
      say(`waiting${limit} for the certificate; unless the cluster approves the request automatically, an administrator does:`);
      say(`  kubectl certificate approve ${request.name}`);
    };
    const { client } = opened;
    const options = { nodeName, store, client, clock, random, logger, metrics: noMetrics, onRequested };
    let pair: { readonly certificate: string };
    try {
      pair = await bootstrapClientCertificate(options, signal);
    } catch (error) {
      if (isUnauthorized(error))
        throw new ProgramError(
          `the cluster does not accept the token or certificate for joining: it is wrong or has expired: ${messageOf(error)}`,
          exitCodes.failure.code,
        );
      if (isForbidden(error)) throw this.#forbiddenError(error, requester);
      throw error;
    }
    const certificate = new X509Certificate(pair.certificate);
    say(`certificate: ${this.#certificateFile}, valid until ${certificate.validTo}`);
    return certificate;
  }
}

async function readAuthority(file: string): Promise<string> {
  const text = await readText({ path: file, shown: file, setting: "--certificate-authority" });
  try {
    if (pinsOf(text).length > 0) return text;
  } catch (error) {
    throw new ConfigError(`--certificate-authority: ${file}: cannot be read: ${messageOf(error)}`, { cause: error });
  }
  throw new ConfigError(`--certificate-authority: ${file}: holds no certificate, expected PEM with -----BEGIN CERTIFICATE-----`);
}
