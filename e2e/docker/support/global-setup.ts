import { networkInterfaces } from "node:os";
import type { TestProject } from "vitest/node";
import { importImages } from "./busybox-image.ts";
import { EngineApi } from "./engine-api.ts";
import { startRegistry } from "./local-registry.ts";
import { PrivateEngine } from "./private-engine.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The Docker engine that all test files share, such as `unix:///tmp/docker.sock`. */
    dockerHost: string;
    /** A non-loopback address of the machine that containers and the control plane can reach. */
    nodeAddress: string;
    /** `host:port` of the registry, which only `registryUser` may use. */
    registry: string;
    /** Path of metrics-server. */
    metricsServer: string;
    /** Path of Prometheus' parser. */
    prometheusParser: string;
    /** Path of kube-proxy. */
    kubeProxy: string;
    /** Path of a log shipper. */
    logShipper: string;
    /** Path of Promtail. */
    promtail: string;
  }
}

const resources = new AsyncDisposableStack();

/**
 * Starts the private engine, its images and the registry that all files of this level share. `VK_TEST_DOCKER_HOST` can name a running
 * engine on this machine instead. Without an engine the level fails, so that it never passes without tests.
 */
export async function setup(project: TestProject): Promise<void> {
  const named = process.env["VK_TEST_DOCKER_HOST"];
  const ofNamespace = networkInterfaces()["lo"]?.find(({ family, address }) => family === "IPv4" && !address.startsWith("127."))?.address;
  if (named === undefined && ofNamespace === undefined)
    throw new Error(
      "these tests must run in private namespaces: run make test LEVEL=docker, or set VK_TEST_DOCKER_HOST to a running engine",
    );
  const api = named === undefined ? resources.use(await PrivateEngine.start()).api : new EngineApi(named);
  resources.use(await importImages(api));
  const { host: registry } = resources.use(await startRegistry());
  project.provide("dockerHost", api.host);
  project.provide("nodeAddress", ofNamespace ?? (await gatewayOf(api)));
  project.provide("registry", registry);
  project.provide("metricsServer", process.env["METRICS_SERVER"] ?? "");
  project.provide("prometheusParser", process.env["PROMETHEUS_PARSER"] ?? "");
  project.provide("kubeProxy", process.env["KUBE_PROXY"] ?? "");
  project.provide("logShipper", process.env["LOG_SHIPPER"] ?? "");
  project.provide("promtail", process.env["PROMTAIL"] ?? "");
}

/** Stops everything. */
export async function teardown(): Promise<void> {
  await resources.disposeAsync();
}

/** Address of the machine in the containers' network. */
async function gatewayOf(api: EngineApi): Promise<string> {
  const { IPAM } = (await api.json("GET", "/networks/bridge")) as { IPAM: { Config: { Gateway?: string }[] } };
  return IPAM.Config[0]?.Gateway ?? "172.17.0.1";
}
