import { networkInterfaces } from "node:os";
import type { TestProject } from "vitest/node";
import { importImages } from "../../docker/support/busybox-image.ts";
import { PrivateEngine } from "../../docker/support/private-engine.ts";
import { buildApiServerImage, buildProgramImage, importBaseImage } from "./program-image.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The Docker engine that all test files share, such as `unix:///tmp/docker.sock`. */
    dockerHost: string;
    /** A non-loopback address of the machine that containers and the control plane can reach. */
    nodeAddress: string;
    /** Path of Helm. */
    helm: string;
  }
}

const resources = new AsyncDisposableStack();

/** Starts the engine that all files of this level share, and builds the images on it. @throws Error outside of the level's namespaces */
export async function setup(project: TestProject): Promise<void> {
  const nodeAddress = networkInterfaces()["lo"]?.find(({ family, address }) => family === "IPv4" && !address.startsWith("127."))?.address;
  const { HELM: helm, IMAGE_CONTEXT: context, APISERVER_IMAGE_CONTEXT: apiServerContext } = process.env;
  if (nodeAddress === undefined || helm === undefined || context === undefined || apiServerContext === undefined)
    throw new Error("these tests need private namespaces, Helm and the packed packages: run make test LEVEL=deployment");
  const { api } = resources.use(await PrivateEngine.start());
  resources.use(await importImages(api));
  await importBaseImage(api);
  await buildProgramImage(api, context);
  await buildApiServerImage(api, apiServerContext);
  project.provide("dockerHost", api.host);
  project.provide("nodeAddress", nodeAddress);
  project.provide("helm", helm);
}

/** Stops everything. */
export async function teardown(): Promise<void> {
  await resources.disposeAsync();
}
