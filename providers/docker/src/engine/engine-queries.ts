import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { ContainerInfo, ContainerInspectInfo, ImageInfo } from "dockerode";
import type { DockerEngine } from "./docker-engine.ts";

/** Returns the engine's containers, running or not. @param filters - values by the filter's name, as in `docker ps --filter` */
export async function listContainers(
  engine: Pick<DockerEngine, "json">,
  filters: Readonly<Record<string, readonly string[]>>,
  signal: AbortSignal,
): Promise<readonly ContainerInfo[]> {
  const query = { all: true, filters: JSON.stringify(filters) };
  return list<ContainerInfo>(engine, "/containers/json", query, "list containers", signal);
}

/** Returns the engine's images. */
export async function listImages(engine: Pick<DockerEngine, "json">, signal: AbortSignal): Promise<readonly ImageInfo[]> {
  return list<ImageInfo>(engine, "/images/json", {}, "list images", signal);
}

/** Inspects a container, by id or name. @throws NotFoundError */
export async function inspectContainer(engine: Pick<DockerEngine, "json">, id: string, signal: AbortSignal): Promise<ContainerInspectInfo> {
  const request = { method: "GET", path: `/containers/${encodeURIComponent(id)}/json`, what: `inspect container ${id}` } as const;
  return (await engine.json(request, signal)) as ContainerInspectInfo;
}

async function list<T>(
  engine: Pick<DockerEngine, "json">,
  path: string,
  query: Readonly<Record<string, string | boolean>>,
  what: string,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const answer = await engine.json({ method: "GET", path, query, what }, signal);
  if (!Array.isArray(answer)) throw new UnavailableError(`${what}: the engine's answer is not a list`);
  return answer as readonly T[];
}
