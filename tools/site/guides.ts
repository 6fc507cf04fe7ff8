import { existsSync, globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { root } from "../workspace.ts";

/** The part of typedoc.json that orders the guides. */
export interface SiteOptions {
  readonly projectDocuments: readonly string[];
  readonly categoryOrder: readonly string[];
}

interface FrontMatter {
  readonly title: string;
  readonly category: string;
  readonly description: string;
}

/** A guide of the site, as its front matter describes it. */
export interface Guide extends FrontMatter {
  /** Path relative to the top of the repository. */
  readonly path: string;
}

const siteOptions: z.ZodType<SiteOptions> = z.object({ projectDocuments: z.array(z.string()), categoryOrder: z.array(z.string()) });

const frontMatter: z.ZodType<FrontMatter> = z.object({
  title: z.string().min(1),
  category: z.string().min(1),
  description: z.string().min(1),
});

export function readSiteOptions(): SiteOptions {
  return siteOptions.parse(JSON.parse(readFileSync(join(root, "typedoc.json"), "utf8")));
}

/**
 * Front matter of a page.
 *
 * @throws Error that names the page and the field if a field is missing
 */
export function readGuide(path: string, page: string): Guide {
  const [, text] = /^---\n([\s\S]*?)\n---\n/.exec(page) ?? [];
  if (text === undefined) throw new Error(`${path}: expected front matter with title, category and description before the heading`);
  const parsed = frontMatter.safeParse(parse(text));
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path.join("."));
    throw new Error(`${path}: the front matter lacks ${fields.join(", ")}; the site's navigation and front page need it`);
  }
  return { path, ...parsed.data };
}

const isGuide = (path: string): boolean => path.startsWith("docs/guides/");

/** The guides in the order of the site. Other documents, such as decision records, have no front matter. */
export function readGuides({ projectDocuments }: SiteOptions = readSiteOptions()): Guide[] {
  return projectDocuments.filter(isGuide).map((path) => readGuide(path, readFileSync(join(root, path), "utf8")));
}

/** The front page's list of guides, a heading for each category; `from` is the page's folder. */
export function renderGuideList(guides: readonly Guide[], categories: readonly string[], from: string): string {
  return categories
    .map((category) => ({ category, pages: guides.filter((guide) => guide.category === category) }))
    .filter(({ pages }) => pages.length > 0)
    .map(({ category, pages }) => {
      const lines = pages.map(({ path, title, description }) => `- [${title}](${relative(from, path)}): ${description}`);
      return `## ${category}\n\n${lines.join("\n")}`;
    })
    .join("\n\n");
}

/** Guides that the site leaves out, and guides whose front matter does not say where they belong. */
export function guideProblems(): string[] {
  const options = readSiteOptions();
  const listed = options.projectDocuments.filter(isGuide);
  const existing = globSync("docs/guides/*.md", { cwd: root }).toSorted();
  const problems = existing
    .filter((path) => !listed.includes(path))
    .map((path) => `${path} is on no page of the site: add it to "projectDocuments" in typedoc.json, where readers should find it`);
  for (const path of listed) {
    if (!existsSync(join(root, path))) {
      problems.push(`typedoc.json lists ${path}, which does not exist`);
      continue;
    }
    const { category } = readGuide(path, readFileSync(join(root, path), "utf8"));
    if (!options.categoryOrder.includes(category)) {
      const known = options.categoryOrder.join(", ");
      problems.push(`${path}: expected a category of "categoryOrder" in typedoc.json (${known}), got ${JSON.stringify(category)}`);
    }
  }
  return problems;
}
