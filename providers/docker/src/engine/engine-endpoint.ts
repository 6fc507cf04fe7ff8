import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { homeDirectory } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { DockerConfig } from "../config.ts";
import type { EngineEndpoint, EngineTls } from "./docker-engine.ts";

export type EndpointSettings = Pick<DockerConfig, "host" | "context" | "certPath" | "tlsVerify" | "configFolder">;

/** Environment of the search. Default: this machine's. */
export interface EndpointSurroundings {
  readonly homeFolder: string;
  readonly userId: number;
  exists(path: string): boolean;
}

/**
 * Finds an engine like the docker command: the configured host, else the configured context, else the current context, else the first
 * existing one of the usual sockets, with podman's last.
 *
 * @throws InvalidInputError for a missing context, and for an engine that is reachable by neither socket nor TCP
 */
export async function resolveEndpoint(
  settings: EndpointSettings,
  surroundings: EndpointSurroundings = thisMachine(),
): Promise<EngineEndpoint> {
  const { host, certPath, tlsVerify } = settings;
  if (host !== undefined) {
    const tls = certPath !== undefined || tlsVerify === true ? await readTls(certPath, tlsVerify) : undefined;
    return parseEndpoint(host, tls);
  }
  const folder = settings.configFolder ?? join(surroundings.homeFolder, ".docker");
  const context = settings.context ?? (await currentContext(folder));
  if (context !== undefined && context !== "default") return contextEndpoint(folder, context);
  const sockets = usualSockets(surroundings);
  return { kind: "unix", socketPath: sockets.find((path) => surroundings.exists(path)) ?? "/var/run/docker.sock" };
}

function usualSockets({ homeFolder, userId }: EndpointSurroundings): string[] {
  return [
    "/var/run/docker.sock",
    `/run/user/${userId}/docker.sock`,
    join(homeFolder, ".docker/run/docker.sock"),
    "/run/podman/podman.sock",
    `/run/user/${userId}/podman/podman.sock`,
  ];
}

/** Reads `unix:///path` or `tcp://host:port`. @throws InvalidInputError */
function parseEndpoint(host: string, tls: EngineTls | undefined): EngineEndpoint {
  const what = `find the Docker engine at "${host}"`;
  const path = /^unix:\/\/(\/.+)$/.exec(host)?.[1];
  if (path !== undefined) return { kind: "unix", socketPath: path };
  if (!/^(tcp|https?):\/\//.test(host)) {
    throw new InvalidInputError(
      `${what}: expected unix:///path or tcp://host:port of this machine; run virtual-kubelet on the machine that the engine is on`,
    );
  }
  const url = URL.parse(host.replace(/^tcp:/, "http:"));
  if (!url?.hostname) throw new InvalidInputError(`${what}: expected tcp://host:port`);
  const secure = tls ?? (host.startsWith("https:") ? {} : undefined);
  return {
    kind: "tcp",
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (secure ? 2376 : 2375) : Number(url.port),
    ...(secure && { tls: secure }),
  };
}

async function readTls(folder: string | undefined, verify: boolean | undefined): Promise<EngineTls> {
  if (folder === undefined) return { verify };
  const [ca, cert, key] = await Promise.all(["ca.pem", "cert.pem", "key.pem"].map((name) => tryRead(join(folder, name))));
  return { ca, cert, key, verify };
}

async function currentContext(folder: string): Promise<string | undefined> {
  const text = await tryRead(join(folder, "config.json"));
  if (text === undefined) return undefined;
  const { currentContext: name } = parseJson(text, join(folder, "config.json")) as { readonly currentContext?: unknown };
  return typeof name === "string" && name !== "" ? name : undefined;
}

async function contextEndpoint(folder: string, name: string): Promise<EngineEndpoint> {
  const id = createHash("sha256").update(name).digest("hex");
  const path = join(folder, "contexts/meta", id, "meta.json");
  const text = await tryRead(path);
  if (text === undefined)
    throw new InvalidInputError(`find the Docker engine of context "${name}": there is no ${path}; expected one of \`docker context ls\``);
  const { Endpoints } = parseJson(text, path) as ContextMeta;
  const { Host, SkipTLSVerify = false } = Endpoints?.docker ?? {};
  if (Host === undefined) throw new InvalidInputError(`find the Docker engine of context "${name}": ${path} names no host`);
  const tls = await readTls(join(folder, "contexts/tls", id, "docker"), !SkipTLSVerify);
  const hasTls = tls.ca !== undefined || tls.cert !== undefined;
  return parseEndpoint(Host, hasTls ? tls : undefined);
}

interface ContextMeta {
  readonly Endpoints?: { readonly docker?: { readonly Host?: string; readonly SkipTLSVerify?: boolean } };
}

async function tryRead(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
    throw new InvalidInputError(`read ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function parseJson(text: string, path: string): object {
  try {
    return Object(JSON.parse(text)) as object;
  } catch (error) {
    throw new InvalidInputError(`read ${path}: expected JSON`, { cause: error });
  }
}

function thisMachine(): EndpointSurroundings {
  return { homeFolder: homeDirectory(), userId: process.getuid?.() ?? 0, exists: existsSync };
}
