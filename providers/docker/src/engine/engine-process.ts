import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { EngineEndpoint } from "./docker-engine.ts";

/**
 * The process of the engine behind a socket: the one that its file `docker.pid` beside the socket names.
 *
 * @param proc - where the machine's processes are
 * @returns `undefined` where there is no such file, or it names another program
 */
export async function engineProcess(endpoint: EngineEndpoint, proc: string = "/proc"): Promise<number | undefined> {
  if (endpoint.kind !== "unix") return undefined;
  const text = await read(join(dirname(endpoint.socketPath), "docker.pid"));
  const [, pid] = /^(\d+)\s*$/.exec(text) ?? [];
  // The file of an engine that was killed stays, and its number is given to others.
  return pid !== undefined && (await read(join(proc, pid, "comm"))).trim() === "dockerd" ? Number(pid) : undefined;
}

function read(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
