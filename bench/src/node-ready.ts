import type { ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { Api, type ApiAccess } from "./api.ts";

interface WatchedNode {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function isReady({ status }: WatchedNode): boolean {
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
}

/** Waits until a node is Ready. @throws Error after 30 seconds, naming the folder of its log */
export async function waitUntilReady(access: ApiAccess, name: string, directory: string): Promise<void> {
  const api = new Api(access, { connections: 1 });
  try {
    for (let tries = 0; tries < 300; tries++) {
      const text = await api.send("GET", `/api/v1/nodes/${name}`).catch(() => "{}");
      if (isReady(JSON.parse(text) as WatchedNode)) return;
      await delay(100);
    }
  } finally {
    await api.close();
  }
  throw new Error(`node ${name} did not become Ready within 30 s; its log is in ${directory}`);
}

/**
 * Calls `start` and returns the milliseconds until a watch shows all nodes as Ready.
 *
 * @param names - nodes that are not Ready yet
 * @param timeoutMs - default: 30,000
 * @throws Error when the time is over, with the number of nodes that are not Ready, or when the program ends
 */
export async function timeToReady(
  access: ApiAccess,
  names: readonly string[],
  start: () => ChildProcess,
  timeoutMs = 30_000,
): Promise<number> {
  const api = new Api(access, { connections: 1 });
  const missing = new Set(names);
  const allReady = Promise.withResolvers<number>();
  const watching = api.watch("/api/v1/nodes?watch=1&allowWatchBookmarks=true", (line) => {
    const { object } = JSON.parse(line) as { object: WatchedNode };
    if (isReady(object)) missing.delete(object.metadata.name);
    if (missing.size === 0) allReady.resolve(performance.now());
  });
  watching.then(
    () => allReady.reject(new Error("the watch of the nodes has ended")),
    (error: unknown) => allReady.reject(error),
  );
  const timer = setTimeout(() => {
    allReady.reject(new Error(`${missing.size} of ${names.length} nodes are not Ready after ${timeoutMs} ms, such as ${[...missing][0]}`));
  }, timeoutMs);
  try {
    // The watch is open before the program starts.
    await Promise.race([delay(500), allReady.promise]);
    const startMs = performance.now();
    start().once("exit", (code) => allReady.reject(new Error(`the program has ended with code ${code}`)));
    return (await allReady.promise) - startMs;
  } finally {
    clearTimeout(timer);
    await api.close();
  }
}
