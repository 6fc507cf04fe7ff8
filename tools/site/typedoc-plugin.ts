import { renderMermaidSVG } from "beautiful-mermaid";
import { globSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import {
  Application,
  Comment,
  type DeclarationReflection,
  JSX,
  KindRouter,
  PageEvent,
  type ProjectReflection,
  Reflection,
  ReflectionKind,
  Renderer,
  type RouterTarget,
} from "typedoc";
import { build } from "vite";
import { root } from "../workspace.ts";
import { compressed } from "./compressed.ts";
import { drawDiagrams } from "./diagrams.ts";
import { nameModules } from "./module-names.ts";
import { sectionsOf, textOf } from "./page-sections.ts";
import { buildIndex, type SearchEntry } from "./search-index.ts";

const repository = "https://github.com/virtual-kubelet/virtual-kubelet-ts";

/** Addresses that stay when a title changes: a guide's is its file name, and a symbol's begins with its import path. */
class SiteRouter extends KindRouter {
  override getIdealBaseName(reflection: Reflection): string {
    if (reflection.isDocument()) return documentPath(reflection.project.files.getReflectionPath(reflection) ?? reflection.name);
    const names = [reflection.name];
    let outer = reflection;
    while (!outer.kindOf(ReflectionKind.Module) && outer.parent && !outer.parent.isProject()) {
      outer = outer.parent;
      names.unshift(outer.name);
    }
    const safe = names.map((name) => this.getUrlSafeName(name.replace(/^@virtual-kubelet\//, "")));
    return `${this.directories.get(reflection.kind) ?? "api"}/${safe.join(".")}`;
  }
}

/** `guides/docker` for a guide, `providers/docker` for a provider's README, `decisions/0001-layout` for a decision record. */
function documentPath(path: string): string {
  const local = relative(root, path).replace(/\.md$/, "");
  const [, provider] = /^providers\/([^/]+)\/README$/.exec(local) ?? [];
  if (provider !== undefined) return `providers/${provider}`;
  return `${local.startsWith("docs/adr/") ? "decisions" : "guides"}/${basename(local)}`;
}

/** Decision records have no front matter: their number and subject are the name, and they are a category of their own. */
function nameDecisions(project: ProjectReflection): void {
  for (const document of project.documents ?? []) {
    if (!project.files.getReflectionPath(document)?.includes("/docs/adr/")) continue;
    const [, heading] = /^# (.+)$/m.exec(Comment.combineDisplayParts(document.content)) ?? [];
    document.name = heading ?? document.name;
    document.frontmatter["category"] = "Decisions";
  }
}

/** What the page is about, for search engines; `undefined` if nothing says so. */
function descriptionOf({ model }: PageEvent): string | undefined {
  if (!(model instanceof Reflection)) return undefined;
  if (model.isDocument()) {
    const { description } = model.frontmatter;
    return typeof description === "string" ? description : undefined;
  }
  const comment = model.comment ?? (model.isDeclaration() ? model.signatures?.[0]?.comment : undefined);
  return comment && Comment.combineDisplayParts(comment.summary).split("\n\n")[0];
}

/** Files of the repository that are not pages are shown there; as files of the site, browsers would show Markdown as text. */
function linkToRepository(html: string, project: ProjectReflection): string {
  const paths = project.files.getNameToAbsoluteMap();
  return html.replace(/href="(?:\.\.\/)*media\/([^"#]+)/g, (whole, name: string) => {
    const path = paths.get(decodeURIComponent(name));
    return path?.endsWith(".md") ? `href="${repository}/blob/main/${relative(root, path)}` : whole;
  });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** The part of a page that is not navigation. */
function contentOf(html: string): string {
  return /<div class="tsd-panel tsd-typography">([\s\S]*?)<div class="col-sidebar">/.exec(html)?.[1] ?? "";
}

function entriesOfGuide(page: PageEvent): SearchEntry[] {
  const sections = sectionsOf(contentOf(page.contents ?? ""));
  const title = page.model instanceof Reflection ? page.model.name : "";
  const description = descriptionOf(page) ?? "";
  return sections.map(({ heading, anchor, text }, position) => {
    const isTop = position === 0 || (position === 1 && sections[0]?.heading === "");
    return isTop
      ? { kind: "guide", title, page: "", text: `${heading} ${description} ${text}`, url: page.url }
      : { kind: "section", title: heading, page: title, text, url: `${page.url}#${anchor}` };
  });
}

function entriesOfApi(router: { getLinkTargets(): RouterTarget[]; getFullUrl(target: RouterTarget): string }): SearchEntry[] {
  return router
    .getLinkTargets()
    .filter((target): target is DeclarationReflection => target instanceof Reflection && target.isDeclaration() && !target.flags.isExternal)
    .map((target) => {
      const comment = target.comment ?? target.signatures?.[0]?.comment;
      const parent = target.parent === undefined || target.parent.isProject() ? "" : target.parent.getFullName();
      const text = comment === undefined ? "" : Comment.combineDisplayParts(comment.summary);
      return { kind: "api", title: target.name, page: parent, text, url: router.getFullUrl(target) };
    });
}

/** Bundles the scripts of the pages into one. */
async function bundleScripts(folder: string): Promise<void> {
  await build({
    configFile: false,
    logLevel: "error",
    build: {
      outDir: folder,
      emptyOutDir: false,
      copyPublicDir: false,
      lib: { entry: join(root, "tools/site/page-script.js"), formats: ["iife"], name: "site", fileName: () => "site.js" },
    },
  });
}

/**
 * Plugin of TypeDoc for what its options do not offer: modules under the names by which they are imported, addresses from file names, diagrams as
 * pictures, descriptions of pages, and a search that finds guides, headings and any word of a page.
 */
export function load(app: Application): void {
  app.on(
    Application.EVENT_PROJECT_REVIVE,
    (project: ProjectReflection) => {
      nameModules(project);
      nameDecisions(project);
    },
    100,
  );
  app.renderer.defineRouter("site", SiteRouter);
  const guides: SearchEntry[] = [];
  app.renderer.hooks.on("head.end", (context) =>
    JSX.createElement(
      JSX.Fragment,
      null,
      JSX.createElement("script", { defer: true, src: context.relativeURL("assets/version.js", true) }),
      JSX.createElement("script", { defer: true, src: context.relativeURL("assets/site.js", true) }),
    ),
  );
  app.renderer.on(Renderer.EVENT_BEGIN, () => guides.splice(0));
  app.renderer.on(PageEvent.END, (page: PageEvent) => {
    if (page.contents === undefined) return;
    const isGuide = page.model instanceof Reflection && page.model.isDocument();
    if (isGuide) guides.push(...entriesOfGuide(page));
    const description = textOf(descriptionOf(page) ?? "");
    page.contents = drawDiagrams(page.contents, (text) => renderMermaidSVG(text, { font: "inherit" }));
    page.contents = linkToRepository(page.contents, page.project);
    if (description !== "")
      page.contents = page.contents.replace(
        /(<meta name="description" content=")[^"]*"/,
        (_, start: string) => `${start}${escaped(description)}"`,
      );
  });
  app.renderer.postRenderAsyncJobs.push(async ({ outputDirectory }) => {
    const assets = join(outputDirectory, "assets");
    for (const file of globSync("media/*.md", { cwd: outputDirectory })) rmSync(join(outputDirectory, file));
    const { router } = app.renderer;
    const index = buildIndex([...guides, ...(router ? entriesOfApi(router) : [])]);
    writeFileSync(join(assets, "search-index.js"), `window.siteSearchIndex = "${compressed(index)}";\n`);
    // TypeDoc's own index, which the pages would load each time. The new one is loaded when the search is opened.
    writeFileSync(join(assets, "search.js"), "");
    writeFileSync(join(assets, "version.js"), "window.siteVersion = undefined;\n");
    await bundleScripts(assets);
  });
}
