import { expect, test } from "vitest";
import { buildIndex, SiteSearch, type SearchEntry } from "./search-index.ts";

const entries: readonly SearchEntry[] = [
  {
    kind: "api",
    title: "OrphanOptions",
    page: "@virtual-kubelet/core",
    text: "How orphans are removed",
    url: "interfaces/OrphanOptions.html",
  },
  {
    kind: "section",
    title: "Removal of orphans",
    page: "Every setting",
    text: "nodes[].orphans.grace how long",
    url: "guides/settings.html#orphans",
  },
  {
    kind: "section",
    title: "Flags",
    page: "Configuration",
    text: "--kubelet-port=PORT port of the kubelet's API",
    url: "guides/configuration.html#flags",
  },
  { kind: "guide", title: "Configuration", page: "", text: "A setting can come from four places", url: "guides/configuration.html" },
  { kind: "api", title: "VirtualNode", page: "@virtual-kubelet/core", text: "A node", url: "classes/VirtualNode.html" },
  {
    kind: "section",
    title: "Embedding",
    page: "Architecture",
    text: "VirtualNode is the class. VirtualNode runs.",
    url: "guides/architecture.html#embedding",
  },
];
const search = new SiteSearch(buildIndex(entries));
const urls = (query: string): string[] => search.find(query).map(({ url }) => url);

test("a plain word finds the guide's section before a symbol", () => {
  expect(urls("orphans")).toEqual(["guides/settings.html#orphans", "interfaces/OrphanOptions.html"]);
});

test.for(["--kubelet-port", "kubelet-port", "kubelet-p"])("the flag %s finds the page that lists it", (query) => {
  expect(urls(query)[0]).toBe("guides/configuration.html#flags");
});

test("a setting's path finds its section", () => {
  expect(urls("nodes[].orphans.grace")).toEqual(["guides/settings.html#orphans"]);
});

test("the exact name of a symbol finds the symbol first", () => {
  expect(urls("VirtualNode")[0]).toBe("classes/VirtualNode.html");
});

test("a typing error is forgiven", () => {
  expect(urls("orphens")[0]).toBe("guides/settings.html#orphans");
});

test("a colon, a star or a dash in a query is text", () => {
  expect(urls("kubelet: -port *")).toContain("guides/configuration.html#flags");
});

test("what no entry has finds nothing", () => {
  expect(urls("zebra")).toEqual([]);
});
