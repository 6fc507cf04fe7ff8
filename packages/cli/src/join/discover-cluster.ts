import { withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import {
  isDeadlineExceeded,
  isForbidden,
  isNotFound,
  isUnauthorized,
  isUnavailable,
  messageOf,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { isDecodeError, resources, type ConfigMap, type TlsMaterial } from "@virtual-kubelet/kube-client";
import { exitCodes } from "../exit-codes.ts";
import { ProgramError } from "../program-error.ts";
import type { BootstrapToken } from "./bootstrap-token.ts";
import { checkClusterInfo, type CheckedClusterInfo, type ClusterAddress } from "./cluster-info.ts";
import type { OpenJoiningClient } from "./joining-client.ts";

/** Interval between attempts. Source: kubernetes v1.36.3 cmd/kubeadm/app/constants, DiscoveryRetryInterval. */
const retryMs = 5_000;

/** How long a signature is waited for: the cluster's controller signs within seconds of the token's creation. */
const signatureMs = 20_000;

/** Time limit for one request. */
const requestMs = 10_000;

const configMap = { namespace: "kube-public", name: "cluster-info" };

/** Dependencies of {@link discoverCluster}. */
export interface DiscoveryOptions {
  /** URL of the API server that is asked. */
  readonly server: string;
  readonly token: BootstrapToken;
  /** Hashes of authorities. Empty: the authority that the token has signed is trusted. */
  readonly pins: readonly string[];
  readonly openClient: OpenJoiningClient;
  readonly clock: Clock;
  /** Receives lines about delays, for people. */
  readonly say: (line: string) => void;
}

/**
 * Finds a cluster's address and authority by a bootstrap token, as kubeadm does: the config map kube-public/cluster-info is read without
 * trusting the server, checked, and read again from a server whose certificate the found authority has signed.
 *
 * @returns the address and the authority in the config map
 * @throws ProgramError if the server cannot be trusted; `signal.reason`
 */
export async function discoverCluster(options: DiscoveryOptions, signal: AbortSignal): Promise<ClusterAddress> {
  const { server, token, pins } = options;
  const first = await signedInfo(options, signal);
  // Without a pin kubeadm does not look again, either.
  if (pins.length === 0) return first.cluster;
  const again = await read(options, { ca: first.cluster.ca }, signal);
  const second = await checkClusterInfo(again, token, pins);
  if (second.kind !== "good") throw untrusted(server, second.problem);
  if (second.kubeconfig !== first.kubeconfig)
    throw untrusted(server, "its kubeconfig was another one when it was read again over a verified connection; try again");
  return second.cluster;
}

async function signedInfo(options: DiscoveryOptions, signal: AbortSignal): Promise<CheckedClusterInfo & { readonly kind: "good" }> {
  const { clock, pins, say, server, token } = options;
  const endMs = clock.monotonic() + signatureMs;
  for (let isFirst = true; ; isFirst = false) {
    const checked = await checkClusterInfo(await read(options, { insecureSkipVerify: true }, signal), token, pins);
    if (checked.kind === "good") return checked;
    if (checked.kind === "bad" || clock.monotonic() >= endMs) throw untrusted(server, checked.problem);
    if (isFirst) say(`waiting for the cluster to sign its cluster-info with the token ${token.id}`);
    await clock.sleep(retryMs, signal);
  }
}

/** Reads the config map, and tries again while the server does not answer. */
async function read({ clock, openClient, say, server }: DiscoveryOptions, tls: TlsMaterial, signal: AbortSignal): Promise<ConfigMap> {
  await using opened = openClient({ server, tls });
  const deadline = { clock, timeoutMs: requestMs, what: `read kube-public/cluster-info from ${server}` };
  let told = "";
  for (;;) {
    try {
      return await withDeadline(deadline, signal, (inner) => opened.client.get(resources.configMaps, configMap, { signal: inner }));
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error)) throw discoveryError(server, error);
      const problem = messageOf(error);
      if (problem !== told) say(`${problem}; trying again`);
      told = problem;
      await clock.sleep(retryMs, signal);
    }
  }
}

/** Whether a further attempt may succeed: not if the server is no API server, its certificate was refused, or its name does not exist. */
function mayPass(error: unknown): boolean {
  if (isDecodeError(error)) return false;
  if (!isUnavailable(error) && !isDeadlineExceeded(error)) return false;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { readonly code?: unknown };
    if (typeof code === "string" && /CERT|SIGNATURE|ENOTFOUND|ERR_SSL|ERR_TLS|SELF_SIGNED/.test(code)) return false;
  }
  return true;
}

function discoveryError(server: string, error: unknown): ProgramError {
  const others = "use --discovery-file with a kubeconfig, or --certificate-authority with the file of the cluster's authority";
  if (isNotFound(error) || isForbidden(error) || isUnauthorized(error))
    return failure(
      `${server} has no kube-public/cluster-info that anonymous clients can read, as kubeadm makes it: ${messageOf(error)}; ${others}`,
      error,
    );
  if (error instanceof UnavailableError && !isDecodeError(error)) return failure(`cannot verify ${server}: ${messageOf(error)}`, error);
  return failure(`cannot read kube-public/cluster-info from ${server}: ${messageOf(error)}; ${others}`, error);
}

function untrusted(server: string, problem: string): ProgramError {
  return failure(`${server} cannot be trusted by its kube-public/cluster-info: ${problem}`);
}

function failure(message: string, cause?: unknown): ProgramError {
  return new ProgramError(message.replaceAll("\n", " "), exitCodes.failure.code, { cause });
}
