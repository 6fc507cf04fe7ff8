/**
 * A cluster for each test: fixtures for Vitest.
 *
 * @packageDocumentation
 */
import { test as base, type TestAPI } from "vitest";
import { startApiServer, type ApiServer, type ApiServerOptions } from "./start-api-server.ts";

/** What tests get. */
export interface ClusterFixtures {
  /** Started when the first test asks for it, closed after the last that may. */
  readonly cluster: ApiServer;
}

/** How the servers of {@link clusterTest} are started, and how many there are. */
export interface ClusterTestOptions extends ApiServerOptions {
  /** A server for each test, for each file, or for each of Vitest's workers; default: `test`. */
  readonly scope?: "test" | "file" | "worker";
}

/**
 * Vitest's `test` with a fixture `cluster`: `const test = clusterTest();`. Tests that do not ask for it start none.
 *
 * @throws Error from the test, if a server cannot be started
 */
export function clusterTest({ scope = "test", ...options }: ClusterTestOptions = {}): TestAPI<ClusterFixtures> {
  return base.extend<ClusterFixtures>({
    cluster: [
      // Vitest reads from the pattern which fixtures this one needs.
      // oxlint-disable-next-line no-empty-pattern
      async ({}, use) => {
        await using cluster = await startApiServer(options);
        await use(cluster);
      },
      { scope },
    ],
  });
}
