// What the pages add to TypeDoc's own script: the search, and the menu of versions.
import { SiteSearch } from "./search-index.ts";

const base = new URL(document.documentElement.dataset.base ?? "./", location.href);

/** Loads the index once, when somebody begins to search. */
let loading;
function loadSearch() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("assets/search-index.js", base).href;
    script.addEventListener("load", () => resolve(inflate(window.siteSearchIndex).then((json) => new SiteSearch(json))));
    script.addEventListener("error", () => reject(new Error("the search index could not be loaded")));
    document.head.append(script);
  });
  return loading;
}

async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

const kinds = { guide: "Guide", section: "Section", api: "API" };

/** A result as TypeDoc's script expects it, which moves through results by the arrow keys and opens them by Enter. */
function resultItem({ title, page, url, kind }, position) {
  const item = document.createElement("li");
  item.id = `tsd-search-result-${position}`;
  item.role = "option";
  item.ariaSelected = "false";
  const link = document.createElement("a");
  link.tabIndex = -1;
  link.href = new URL(url, base).href;
  const text = document.createElement("span");
  text.className = "text";
  text.textContent = title;
  const place = document.createElement("span");
  place.className = "place";
  place.textContent = page === "" ? kinds[kind] : `${kinds[kind]} · ${page}`;
  link.append(text, place);
  item.append(link);
  return item;
}

function startSearch() {
  const [field, results, status, trigger] = ["tsd-search-input", "tsd-search-results", "tsd-search-status", "tsd-search-trigger"].map(
    (id) => document.getElementById(id),
  );
  if (!field || !results || !status) return;
  status.textContent = "";
  field.placeholder = "Search guides, settings, metrics, names …";
  const dialog = field.closest("dialog");
  let asked = 0;
  const show = async () => {
    const turn = ++asked;
    const query = field.value.trim();
    const hits = query === "" ? [] : await loadSearch().then((search) => search.find(query));
    // Somebody typed on while the index was loading.
    if (turn !== asked) return;
    results.replaceChildren(...hits.map(resultItem));
    field.removeAttribute("aria-activedescendant");
    status.textContent = query !== "" && hits.length === 0 ? `Nothing was found for “${query}”.` : "";
  };
  const fail = (error) => (status.textContent = String(error instanceof Error ? error.message : error));
  field.addEventListener("input", (event) => {
    event.stopImmediatePropagation();
    show().catch(fail);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !field.getAttribute("aria-activedescendant")) results.querySelector("a")?.click();
  });
  // A result on this page is a fragment only, which does not close the dialog.
  results.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link && new URL(link.href).pathname === location.pathname) dialog?.close();
  });
  for (const event of ["pointerenter", "focus", "click"]) trigger?.addEventListener(event, () => loadSearch().catch(fail), { once: true });
}

/** The menu of versions, on a site that has several: `versions.json` is beside the versions' folders. */
async function startVersions() {
  const current = window.siteVersion;
  const links = document.getElementById("tsd-toolbar-links");
  if (!current || !links) return;
  const response = await fetch(new URL("../versions.json", base));
  if (!response.ok) return;
  const { versions } = await response.json();
  const select = document.createElement("select");
  select.id = "site-versions";
  select.ariaLabel = "Version of the documentation";
  for (const { name, path } of versions) select.add(new Option(name, path, name === current, name === current));
  select.addEventListener("change", () => {
    location.href = new URL(`../${select.value}`, base).href;
  });
  links.prepend(select);
}

startSearch();
startVersions().catch(reportError);
