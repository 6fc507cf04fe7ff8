import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { EngineEndpoint } from "./docker-engine.ts";

/**
 * Process id of the engine behind a socket, from the file `docker.pid` beside the socket.
 *
 * @param proc - the machine's process file system
 * @returns `undefined` if the file is missing, or names another program
 */
export async function engineProcess(endpoint: EngineEndpoint, proc: string = "/proc"): Promise<number | undefined> {
  if (endpoint.kind !== "unix") return undefined;
  const text = await read(join(dirname(endpoint.socketPath), "docker.pid"));
  const [, pid] = /^(\d+)\s*$/.exec(text) ?? [];
  // The file of a killed engine stays, and its process id may be reused.
  return pid !== undefined && (await read(join(proc, pid, "comm"))).trim() === "dockerd" ? Number(pid) : undefined;
}

function read(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
