import { networkInterfaces } from "node:os";
import type { TestProject } from "vitest/node";
import { importImages } from "../../docker/support/busybox-image.ts";
import { PrivateEngine } from "../../docker/support/private-engine.ts";
import { buildProgramImage } from "./program-image.ts";

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

/** Starts the engine that all files of this level share, and builds the program's image on it. @throws Error outside of the level's namespaces */
export async function setup(project: TestProject): Promise<void> {
  const nodeAddress = networkInterfaces()["lo"]?.find(({ family, address }) => family === "IPv4" && !address.startsWith("127."))?.address;
  const { HELM: helm, IMAGE_CONTEXT: context } = process.env;
  if (nodeAddress === undefined || helm === undefined || context === undefined)
    throw new Error("these tests need private namespaces, Helm and the packed program: run make test LEVEL=deployment");
  const { api } = resources.use(await PrivateEngine.start());
  resources.use(await importImages(api));
  await buildProgramImage(api, context);
  project.provide("dockerHost", api.host);
  project.provide("nodeAddress", nodeAddress);
  project.provide("helm", helm);
}

/** Stops everything. */
export async function teardown(): Promise<void> {
  await resources.disposeAsync();
}
