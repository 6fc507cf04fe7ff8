import Docker from "dockerode";
import { startCountingProxy, type CountingProxy } from "./counting-proxy.ts";
import { containerRunner } from "./docker-sides.ts";
import { startEmbedded } from "./embedded-process.ts";
import type { EngineCalls } from "./figures.ts";
import { startNode } from "./node-program.ts";
import { podRunner, type Runner } from "./pod-runner.ts";

/** Calls that a node makes whether it has pods or not. */
const idlePaths = new Set(["/_ping", "/events", "/info", "/version"]);

/** Counts the engine calls for this number of concurrent pods, through the node and directly through the API. The run is not timed. */
export async function countEngineCalls(image: string, pods: number): Promise<EngineCalls> {
  const host = process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock";
  await using proxy = await startCountingProxy(host.replace("unix://", ""));
  const { socketPath } = proxy;
  const plain = await callsOf(proxy, containerRunner(new Docker({ socketPath }), image), pods);
  await using api = await startEmbedded();
  await using _node = await startNode(api, "docker", { sandboxImage: image, host: `unix://${socketPath}` });
  const run = podRunner(api, { node: "docker", image });
  // For its first pod a node inspects the engine and the image.
  const removeFirst = await run(1, "warm");
  await removeFirst();
  return { node: await callsOf(proxy, run, pods), plain };
}

/** Calls per pod from its creation until it runs, and from its creation until it is removed. */
async function callsOf(proxy: CountingProxy, run: Runner, pods: number): Promise<EngineCalls["node"]> {
  let calls = 0;
  proxy.onRequest = (path) => {
    if (!idlePaths.has(path)) calls++;
  };
  const remove = await run(pods, "calls");
  const started = calls;
  await remove();
  return { start: started / pods, whole: calls / pods };
}
