import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { runAsProgram, type CheckResult } from "../check.ts";
import { root } from "../workspace.ts";

/** What a page offers to links, and which links and files it has. */
export interface PageLinks {
  readonly anchors: ReadonlySet<string>;
  /** Values of `href` and `src`, as the browser reads them. */
  readonly targets: readonly string[];
}

const unescaped = (value: string): string => value.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"');

export function linksOf(html: string): PageLinks {
  const markup = html
    .replace(/<script\b[^>]*>[\s\S]*?<\/script>/g, (script) => script.replace(/>[\s\S]*/, ">"))
    .replace(/<!--[\s\S]*?-->/g, "");
  const values = (pattern: RegExp): string[] => [...markup.matchAll(pattern)].map(([, value = ""]) => unescaped(value));
  return { anchors: new Set(values(/\s(?:id|name)="([^"]*)"/g)), targets: [...new Set(values(/\s(?:href|src)="([^"]*)"/g))] };
}

/**
 * Links of a site that lead nowhere: to a file or a fragment that does not exist, or to a Markdown file, which a browser shows as text.
 *
 * @param pages - the pages by their path below the site's top
 * @param files - every other file of the site
 */
export function brokenLinks(pages: ReadonlyMap<string, PageLinks>, files: ReadonlySet<string>): string[] {
  return [...pages].flatMap(([page, { targets }]) =>
    targets
      .filter((target) => !/^[a-z][a-z0-9+.-]*:/.test(target))
      .flatMap((target) => {
        const [path = "", fragment = ""] = target.split("#");
        const file = path === "" ? page : posix.normalize(posix.join(posix.dirname(page), decodeURIComponent(path)));
        const full = file === "." || file.endsWith("/") ? posix.join(file, "index.html") : file;
        if (full.endsWith(".md")) return [`${page} links to ${target}, which is Markdown and not a page`];
        const found = pages.get(full);
        if (found === undefined) return files.has(full) ? [] : [`${page} links to ${target}, which does not exist`];
        return fragment === "" || found.anchors.has(decodeURIComponent(fragment))
          ? []
          : [`${page} links to ${target}, which has no such anchor`];
      }),
  );
}

/** Addresses of other hosts from which a page would load something. */
export function foreignRequests(html: string): string[] {
  const loads = [
    ...html.matchAll(/<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\ssrc="((?:https?:)?\/\/[^"]*)"/g),
    ...html.matchAll(/<link\b[^>]*\shref="((?:https?:)?\/\/[^"]*)"/g),
    ...html.matchAll(/(?:@import\s+(?:url\()?|url\()\s*['"]?((?:https?:)?\/\/[^'")\s]+)/g),
  ];
  return [...new Set(loads.map(([, address = ""]) => address))];
}

/** Checks the built site: its links with their fragments, and that no page loads anything from another host. */
export function checkSite(folder: string = join(root, "docs/site")): CheckResult[] {
  const all = globSync("**/*", { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => posix.relative(folder, posix.join(parentPath, name)));
  const isPage = (path: string): boolean => path.endsWith(".html");
  const texts = new Map(all.filter(isPage).map((path) => [path, readFileSync(join(folder, path), "utf8")]));
  const pages = new Map([...texts].map(([path, html]) => [path, linksOf(html)]));
  return [
    { name: "links of the site", problems: brokenLinks(pages, new Set(all)) },
    {
      name: "nothing is loaded from other hosts",
      problems: [...texts].flatMap(([path, html]) => foreignRequests(html).map((address) => `${path} loads ${address}`)),
    },
  ];
}

await runAsProgram(import.meta, checkSite);
