import { isInvalidInput, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { once } from "node:events";
import type { LoadedSettings } from "../config/load-settings.ts";
import { parseHostPort } from "../config/addresses.ts";
import { connect } from "../connect.ts";
import type { Context } from "../context.ts";
import { openConfiguredClientCa, openConfiguredKeyPair } from "../kubelet-server/certificate-source.ts";
import { isEveryAddress } from "../kubelet-server/node-address.ts";
import { lockHolder } from "../nodes/node-lock.ts";
import { ConfigError } from "../program-error.ts";
import { certDirectoryOf } from "../kubelet-server/cert-directory.ts";
import { tryProvider, type TriedNode } from "../providers/try-provider.ts";

/** Timeout of a kubeconfig's credential command, in milliseconds. */
const credentialsTimeoutMs = 10_000;

/**
 * Opens everything that the settings name, and creates each provider, like a run before its nodes start. Nothing is sent to the cluster or
 * written, and everything is closed again.
 *
 * @returns problems that may prevent a run but are not mistakes in the settings, one line each
 * @throws ConfigError with one line for each mistake
 */
export async function checkRun(planned: readonly TriedNode[], loaded: LoadedSettings, context: Context): Promise<string[]> {
  const { settings } = loaded;
  const problems: string[] = [];
  const warnings: string[] = [];
  const collect = async (check: () => Promise<string | void>): Promise<void> => {
    try {
      const warning = await check();
      if (warning !== undefined) warnings.push(warning);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof ConfigError)) throw error;
      problems.push(error.message);
    }
  };
  await collect(() => checkCredentials(loaded, context));
  const ports = new Set(settings.nodes.map(({ kubeletPort }) => kubeletPort).filter((port) => port !== 0));
  if (ports.size > 0) {
    await collect(() => checkClientCa(loaded, context));
    await collect(() => checkServingCertificate(loaded, context));
  }
  for (const port of ports) await collect(() => checkKubeletPort(loaded, port));
  await collect(() => checkAddress(loaded, "health"));
  await collect(() => checkAddress(loaded, "debug"));
  for (const node of planned) {
    await collect(() => checkLock(node, loaded, context));
    await collect(() => tryProvider(node, settings, context));
  }
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
  return warnings;
}

async function checkCredentials(loaded: LoadedSettings, context: Context): Promise<string | undefined> {
  await using connection = await connect(loaded, context, noMetrics);
  const deadline = new AbortController();
  using _timer = context.clock.setTimer(credentialsTimeoutMs, () =>
    deadline.abort(new UnavailableError(`no answer within ${credentialsTimeoutMs / 1000} s`)),
  );
  try {
    await connection.credentials.current(AbortSignal.any([context.signal, deadline.signal]));
    return undefined;
  } catch (error) {
    context.signal.throwIfAborted();
    const message = `${loaded.nameOf(["cluster", "kubeconfig"])}: ${messageOf(error).replaceAll("\n", " ")}`;
    if (isInvalidInput(error)) throw new ConfigError(message, { cause: error });
    return message;
  }
}

/** Opens the configured client CA. @throws ConfigError if that fails */
export async function checkClientCa(loaded: LoadedSettings, context: Context): Promise<void> {
  await asConfigError(loaded, ["kubelet", "clientCAFile"], () => openConfiguredClientCa({ loaded, context, logger: silentLogger }));
}

/** Opens the configured serving certificate, or looks whether one could be stored. @throws ConfigError if not */
export async function checkServingCertificate(loaded: LoadedSettings, context: Context): Promise<void> {
  const { tlsCertFile, certDirectory } = loaded.settings.kubelet;
  const deps = { loaded, context, logger: silentLogger, metrics: noMetrics };
  await asConfigError(loaded, ["kubelet", "tlsCertFile"], () => openConfiguredKeyPair(deps));
  if (tlsCertFile === undefined && certDirectory !== undefined) {
    const path = ["kubelet", "certDirectory"];
    const problem = await directoryProblem(loaded.resolvePath(path, certDirectory));
    if (problem !== undefined) throw new ConfigError(`${loaded.nameOf(path)}: ${JSON.stringify(certDirectory)}: ${problem}`);
  }
}

/** Why files cannot be stored in a directory, which may not exist yet; `undefined` if they can. */
async function directoryProblem(directory: string): Promise<string | undefined> {
  try {
    if (!(await stat(directory)).isDirectory()) return `${directory} is not a directory`;
    await access(directory, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const parent = dirname(directory);
    if (error instanceof Error && "code" in error && error.code === "ENOENT" && parent !== directory) return directoryProblem(parent);
    return `${directory} is not writable: ${messageOf(error)}`;
  }
}

/** Listens on a port of the kubelet's API for a moment. @returns a warning if it is in use @throws ConfigError if it cannot be used */
export async function checkKubeletPort(loaded: LoadedSettings, port: number): Promise<string | undefined> {
  const { address } = loaded.settings.kubelet;
  const index = loaded.settings.nodes.findIndex(({ kubeletPort }) => kubeletPort === port);
  const error = await listenError(isEveryAddress(address) ? "" : address, port);
  if (error === undefined) return undefined;
  const message = `${loaded.nameOf(["nodes", index, "kubeletPort"])}: ${port}: cannot serve the kubelet's API on ${address}: ${messageOf(error)}`;
  return asWarningIfTaken(error, message);
}

/** A warning only, because the holder may be this node's own program that is already running. */
async function checkLock({ options: { name } }: TriedNode, loaded: LoadedSettings, context: Context): Promise<string | undefined> {
  const { standby, group } = loaded.settings.instance;
  if (standby || group !== undefined) return undefined;
  const { directory } = certDirectoryOf(name, loaded, context);
  const holder = await lockHolder({ directory, nodeName: name, clock: context.clock });
  return holder === undefined
    ? undefined
    : `node ${name}: process ${holder} on this host is already running it; a run fails until that ends`;
}

/** Listens on an address for a moment. @returns a warning if it cannot be used @throws ConfigError if a run would fail */
export async function checkAddress(loaded: LoadedSettings, section: "health" | "debug"): Promise<string | undefined> {
  const { address } = loaded.settings[section];
  const hostPort = parseHostPort(address);
  if (address === "off" || !hostPort) return undefined;
  const path = [section, "address"];
  const isDefault = loaded.merged.sourceOf(path).kind === "default";
  const name = `${loaded.nameOf(path)}: ${JSON.stringify(address)}`;
  if (!isDefault && isOfKubelet(hostPort, loaded))
    throw new ConfigError(`${name}: the kubelet's API uses this address; choose another port`);
  const error = await listenError(hostPort.host, hostPort.port);
  if (error === undefined) return undefined;
  const message = `${name}: cannot listen there: ${messageOf(error)}`;
  // A run continues without health checks if the address is the default.
  return isDefault ? message : asWarningIfTaken(error, message);
}

/** Whether the program itself uses the address for the kubelet's API. */
function isOfKubelet({ host, port }: { readonly host: string; readonly port: number }, { settings }: LoadedSettings): boolean {
  const { address } = settings.kubelet;
  const isOneHost = host === address || host === "" || isEveryAddress(host) || isEveryAddress(address);
  return isOneHost && port !== 0 && settings.nodes.some(({ kubeletPort }) => kubeletPort === port);
}

/** A port in use is a warning only, because its user may be this node's own program that is already running. */
function asWarningIfTaken(error: Error, message: string): string {
  if ("code" in error && error.code === "EADDRINUSE") return `${message}; a run fails while it is in use`;
  throw new ConfigError(message, { cause: error });
}

/** Listens for a moment. @returns the system's error if that fails */
async function listenError(host: string, port: number): Promise<Error | undefined> {
  const server = createServer();
  try {
    server.listen(port, host === "" ? undefined : host);
    await once(server, "listening");
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    server.close();
  }
}

async function asConfigError(loaded: LoadedSettings, path: readonly string[], open: () => Promise<unknown>): Promise<void> {
  try {
    await open();
  } catch (error) {
    if (!isInvalidInput(error)) throw error;
    throw new ConfigError(`${loaded.nameOf(path)}: ${messageOf(error)}`, { cause: error });
  }
}
