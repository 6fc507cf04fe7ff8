import { test as base, type TestAPI } from "vitest";
import { Browser } from "./browser.ts";

/** Fixtures of a test in a browser. */
export interface BrowserFixtures {
  readonly browser: Browser;
}

/** A test with a browser that all tests of the file share. Each of them opens pages of its own. */
export const test: TestAPI<BrowserFixtures> = base.extend<BrowserFixtures>({
  browser: [
    // oxlint-disable-next-line eslint/no-empty-pattern -- vitest reads from the pattern what a fixture needs
    async ({}, use) => {
      await using browser = await Browser.start();
      await use(browser);
    },
    { scope: "file" },
  ],
});
