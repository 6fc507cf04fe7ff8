import type { Random } from "@virtual-kubelet/clock";
import { makeDirectory } from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { networkInterfaces, release } from "node:os";
import { join } from "node:path";
import type { DockerEngine } from "./docker-engine.ts";
import { engineMessageOf, formatEndpoint } from "./engine-error.ts";
import { readEngineFacts } from "./engine-facts.ts";

export interface LocalityOptions {
  readonly engine: DockerEngine;
  /** Folder that both this program and the engine must see. */
  readonly rootDirectory: string;
  /** Mounts a file system in a folder below {@link rootDirectory}, until it is disposed; `undefined` where mounting is impossible. */
  readonly mountAnew: () => Promise<(AsyncDisposable & { readonly path: string }) | undefined>;
  readonly random: Random;
  /** The engine's network for pods. */
  readonly network: string;
  /** This machine's kernel. Default: from the system. */
  readonly kernelVersion?: string | undefined;
  /** Content of `/proc/self/uid_map`, which shows whether this program is in a user namespace. Default: read from there. */
  readonly uidMap?: string | undefined;
  /** Addresses of this program's network interfaces. Default: from the system. */
  readonly ownAddresses?: readonly string[] | undefined;
}

/**
 * Checks that the engine runs on this machine, because pods' volumes are folders, and probes use pods' addresses. The engine must have this
 * machine's kernel, and see a new file of this program, also in a new mount.
 *
 * To test whether the engine sees a file, it is asked to create a container with a missing image that mounts the file: engines check mounts
 * before images.
 *
 * @throws UnavailableError with the reason and a remedy
 */
export async function checkLocality(options: LocalityOptions, signal: AbortSignal): Promise<void> {
  const { engine, rootDirectory, mountAnew, random, kernelVersion = release() } = options;
  const facts = await readEngineFacts(engine, signal);
  const refuse = (reason: string, remedy: string): never => {
    throw new UnavailableError(`use the Docker engine at ${formatEndpoint(engine.endpoint)}: ${reason}; ${remedy}`);
  };
  // Each user of rootless podman has a separate network namespace, which other programs cannot join.
  if (facts.isRootless && (facts.isPodman || !(await sharesNamespaces(options, signal)))) {
    refuse(
      "it is rootless, and its pods' addresses cannot be reached from here",
      'use an engine that runs as root, or run virtual-kubelet in its namespaces: nsenter -U --preserve-credentials -n -m -t "$(cat "$XDG_RUNTIME_DIR/docker.pid")"',
    );
  }
  if (facts.kernelVersion !== kernelVersion) {
    refuse(
      `it is on another machine, or in a virtual one: its kernel is ${facts.kernelVersion} (${facts.operatingSystem}), this one's is ${kernelVersion}`,
      "run virtual-kubelet there, beside the engine",
    );
  }
  const name = `engine-check-${random.uuid()}`;
  if (await seesFile(engine, join(rootDirectory, `.${name}-that-is-not-there`), name, signal)) {
    engine.logger.warn(
      {},
      "the Docker engine does not report whether it sees this program's files; because its kernel is the same, it is assumed to be on this machine",
    );
    return;
  }
  if (!(await seesFolder(engine, rootDirectory, name, signal))) {
    refuse(
      `it does not see ${rootDirectory} as it is here`,
      "run virtual-kubelet on the same machine, and in a container mount that folder at the same path, with propagation rshared",
    );
  }
  await using mounted = await mountAnew();
  if (mounted !== undefined && !(await seesFolder(engine, mounted.path, name, signal))) {
    refuse(
      `it does not see what is mounted at ${mounted.path}, and pods would have no secrets and no volumes in memory`,
      `run virtual-kubelet in the engine's mount namespace, or in a container with ${rootDirectory} mounted with propagation rshared, from a folder of the machine that is shared there, too (mount --make-rshared)`,
    );
  }
}

/**
 * Whether this program is in the namespaces of a rootless engine: in a user namespace, and with the address of the pods' network on one of
 * its interfaces.
 */
async function sharesNamespaces({ engine, network, uidMap, ownAddresses }: LocalityOptions, signal: AbortSignal): Promise<boolean> {
  const [first, second, count] = (uidMap ?? (await readFile("/proc/self/uid_map", "utf8").catch(() => ""))).trim().split(/\s+/);
  // The machine's own namespace maps all ids to themselves.
  if (count === undefined || (first === "0" && second === "0" && count === "4294967295")) return false;
  const what = `look for the pods' network ${JSON.stringify(network)}`;
  const found = await engine.json({ method: "GET", path: `/networks/${encodeURIComponent(network)}`, what }, signal);
  const { IPAM } = Object(found) as { readonly IPAM?: { readonly Config?: readonly { readonly Gateway?: string }[] | null } };
  const own = ownAddresses ?? Object.values(networkInterfaces()).flatMap((entries = []) => entries.map(({ address }) => address));
  return (IPAM?.Config ?? []).some(({ Gateway = "" }) => own.includes(Gateway.split("/")[0] ?? ""));
}

/** Whether the engine sees a new file in a folder. */
async function seesFolder(engine: DockerEngine, folder: string, name: string, signal: AbortSignal): Promise<boolean> {
  const path = join(folder, `.${name}`);
  await writeSentinel(folder, path);
  try {
    return await seesFile(engine, path, name, signal);
  } finally {
    await rm(path, { force: true });
  }
}

async function writeSentinel(folder: string, path: string): Promise<void> {
  try {
    await makeDirectory(folder, 0o750);
    await writeFile(path, "");
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new UnavailableError(
      `write a file to ${folder}: ${said}; run virtual-kubelet as root, or set rootDirectory to a folder that it may write`,
      { cause: error },
    );
  }
}

async function seesFile(engine: DockerEngine, path: string, image: string, signal: AbortSignal): Promise<boolean> {
  const body = {
    Image: `virtual-kubelet.invalid/${image}:none`,
    HostConfig: { Mounts: [{ Type: "bind", Source: path, Target: "/check", ReadOnly: true }] },
  };
  try {
    const made = await engine.json(
      { method: "POST", path: "/containers/create", body, what: "look for our files at the Docker engine" },
      signal,
    );
    const { Id = "" } = Object(made) as { readonly Id?: string };
    await engine.json({ method: "DELETE", path: `/containers/${Id}`, query: { force: true } }, signal);
    return true;
  } catch (error) {
    const said = engineMessageOf(error);
    if (said === undefined) throw error;
    return !/bind source path does not exist|no such file or directory/i.test(said);
  }
}
