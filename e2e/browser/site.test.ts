import type { Page } from "playwright-core";
import { expect } from "vitest";
import { test as browserTest } from "./support/browser-test.ts";
import { openBuiltSite, type BuiltSite } from "./support/built-site.ts";

/** Building the site takes a minute or more. */
const buildTimeoutMs = 540_000;

const test = browserTest.extend<{ readonly site: BuiltSite }>({
  site: [
    // oxlint-disable-next-line eslint/no-empty-pattern -- vitest reads from the pattern what a fixture needs
    async ({}, use) => {
      await using site = await openBuiltSite();
      await use(site);
    },
    { scope: "file" },
  ],
});

/** Opens the search by its key and types. A page is hidden until its script has run, and takes no keys before. */
async function search(page: Page, query: string): Promise<void> {
  await page.locator("#tsd-search-trigger").waitFor();
  await page.keyboard.press("/");
  await page.locator("#tsd-search-input").waitFor();
  await page.keyboard.type(query);
}

const mainPages = [
  "index.html",
  "guides/getting-started.html",
  "guides/settings.html",
  "guides/configuration.html",
  "guides/reasons.html",
  "guides/architecture.html",
  "providers/docker.html",
  "modules/core.html",
  "interfaces/core.Provider.html",
  "modules/pod-runtime_probes.html",
];

test.for([
  { width: 390, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
] as const)(
  "no page scrolls sideways, reports an error or asks another host at $width pixels, $colorScheme",
  { timeout: buildTimeoutMs },
  async (view, { browser, site }) => {
    await using opened = await browser.open(view);
    const foreign: string[] = [];
    opened.page.on("request", (request) => {
      if (!request.url().startsWith(site.top)) foreign.push(request.url());
    });
    const wide: string[] = [];
    for (const path of mainPages) {
      expect((await opened.page.goto(`${site.url}${path}`))?.status(), path).toBe(200);
      await opened.page.locator("#tsd-nav-container a").first().waitFor({ state: "attached" });
      const isWide = await opened.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
      if (isWide === true) wide.push(path);
    }
    expect({ wide, foreign, problems: opened.problems }).toEqual({ wide: [], foreign: [], problems: [] });
  },
);

test.for([
  ["orphans", "guides/settings.html#removal-of-orphans", "Removal of orphans"],
  ["untolerated taint", "guides/troubleshooting.html#", "untolerated taint"],
  ["x509: certificate signed by unknown authority", "guides/troubleshooting.html#", "unknown authority"],
  ["vk_mass_loss_suspected_total", "guides/monitoring.html", "vk_mass_loss_suspected_total"],
  ["--kubelet-port", "guides/", "--kubelet-port"],
  ["MassLossSuspected", "guides/", "MassLossSuspected"],
  ["nodes[].orphans.maxPerSweep", "guides/settings.html", "nodes[].orphans.maxPerSweep"],
  ["VirtualNode", "classes/core.VirtualNode.html", "VirtualNode"],
] as const)(
  "the search for %s finds its page by the keyboard alone",
  { timeout: buildTimeoutMs },
  async ([query, path, text], { browser, site }) => {
    await using opened = await browser.goto(site.url);
    await search(opened.page, query);
    const results = opened.page.locator("#tsd-search-results a");
    await results.first().waitFor();
    const addresses: unknown = await opened.page.evaluate(
      "[...document.querySelectorAll('#tsd-search-results a')].map((link) => link.href)",
    );
    const rank = Array.isArray(addresses) ? addresses.findIndex((address) => String(address).startsWith(`${site.url}${path}`)) : -1;
    expect(rank, `among ${String(addresses)}`).toBeGreaterThanOrEqual(0);
    expect(rank, `among ${String(addresses)}`).toBeLessThan(3);
    for (let step = 0; step <= rank; step += 1) await opened.page.keyboard.press("ArrowDown");
    await opened.page.keyboard.press("Enter");
    await opened.page.waitForURL((url) => url.href.startsWith(`${site.url}${path}`));
    expect(await opened.page.locator(".col-content").innerText()).toContain(text);
    expect(opened.problems).toEqual([]);
  },
);

test("a word that is nowhere gets an answer", { timeout: buildTimeoutMs }, async ({ browser, site }) => {
  await using opened = await browser.goto(site.url);
  await search(opened.page, "zzqqxx");
  await opened.page.getByText("Nothing was found for").waitFor();
  expect(opened.problems).toEqual([]);
});

test(
  "guides come before the API in the navigation, and modules have their import paths",
  { timeout: buildTimeoutMs },
  async ({ browser, site }) => {
    await using opened = await browser.goto(`${site.url}modules/pod-runtime_probes.html`);
    await opened.page.locator("#tsd-nav-container > li").first().waitFor();
    const groups = await opened.page.locator("#tsd-nav-container > li > details > summary").allInnerTexts();
    expect(groups.map((group) => group.trim())).toEqual([
      "Start",
      "Providers",
      "Operate",
      "Test",
      "Understand",
      "Decisions",
      "API reference",
    ]);
    expect(await opened.page.title()).toContain("@virtual-kubelet/pod-runtime/probes");
  },
);

test("the diagram of a pod's states is a picture", { timeout: buildTimeoutMs }, async ({ browser, site }) => {
  await using opened = await browser.goto(`${site.url}guides/architecture.html`);
  const picture = opened.page.locator("figure.diagram svg").first();
  await picture.waitFor();
  expect((await picture.boundingBox())?.height).toBeGreaterThan(200);
  expect(await picture.textContent()).toContain("present");
});

test("the menu of versions leads to another version", { timeout: buildTimeoutMs }, async ({ browser, site }) => {
  await using opened = await browser.goto(site.top);
  await opened.page.waitForURL(site.url);
  const menu = opened.page.locator("#site-versions");
  await menu.waitFor();
  expect(await menu.locator("option").allInnerTexts()).toEqual(["latest (v1.2)", "v1.2", "v1.1"]);
  await menu.selectOption("v1.1");
  await opened.page.waitForURL(`${site.top}v1.1/`);
  expect(await opened.page.locator("#site-versions option:checked").innerText()).toBe("v1.1");
  expect(opened.problems).toEqual([]);
});
