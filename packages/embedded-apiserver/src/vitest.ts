/**
 * Vitest fixtures that give each test a cluster.
 *
 * @packageDocumentation
 */
import { test as base, type TestAPI } from "vitest";
import { startApiServer, type ApiServer, type ApiServerOptions } from "./start-api-server.ts";

/** Fixtures of {@link clusterTest}. */
export interface ClusterFixtures {
  /** Started for the first test that uses it, closed after the last one in its scope. */
  readonly cluster: ApiServer;
}

/** Options of {@link clusterTest}. */
export interface ClusterTestOptions extends ApiServerOptions {
  /** Whether there is one server per test, per file, or per Vitest worker; default: `test`. */
  readonly scope?: "test" | "file" | "worker";
}

/**
 * Vitest's `test` with a fixture `cluster`: `const test = clusterTest();`. Tests that do not use the fixture start no server.
 *
 * @throws Error from the test if the server cannot be started
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
