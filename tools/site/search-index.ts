import MiniSearch, { type Options } from "minisearch";
import { wordsOf } from "./search-words.ts";

/** Something that the search finds: a guide, a section of a guide, or a name of the API. */
export interface SearchEntry {
  readonly title: string;
  /** Title of the guide that a section belongs to, or the full name of a symbol's parent; empty for a whole page. */
  readonly page: string;
  readonly text: string;
  /** Relative to the site's top. */
  readonly url: string;
  readonly kind: "guide" | "section" | "api";
}

/** How often a hit in the field counts. */
const boost = { title: 5, page: 2, text: 1 };

/** Guides before sections before names of the API, if their words fit equally well. */
const kindBoost: Readonly<Record<string, number>> = { guide: 2, section: 1.6, api: 0.5 };

/** Options of the index. The pages need the same ones as the build. */
const searchOptions: Options<SearchEntry & { readonly id: number }> = {
  fields: ["title", "page", "text"],
  storeFields: ["title", "page", "url", "kind"],
  tokenize: wordsOf,
  processTerm: (term) => term,
  searchOptions: { boost },
};

/** The index as JSON. */
export function buildIndex(entries: readonly SearchEntry[]): string {
  const index = new MiniSearch<SearchEntry & { readonly id: number }>(searchOptions);
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));
  return JSON.stringify(index);
}

/** A result of the search. */
export type SearchHit = Omit<SearchEntry, "text">;

/** Searches an index that {@link buildIndex} made. */
export class SiteSearch {
  readonly #index: MiniSearch<SearchEntry & { readonly id: number }>;

  constructor(json: string) {
    this.#index = MiniSearch.loadJSON(json, searchOptions);
  }

  /**
   * The best hits, best first. Entries with all words come before entries with some of them. The last word may be unfinished; a word of five
   * letters or more may have a typing error.
   */
  find(query: string, limit: number = 12): SearchHit[] {
    const name = query.trim();
    // Somebody who types a plain word wants a guide; a name of the API has a capital, a dot or a dash.
    const isPlain = /^[\p{Ll}\s]+$/u.test(name);
    const options = {
      // Words of a name are parts of one another, so a query's own words are those between its spaces.
      tokenize: (text: string) => text.split(/\s+/).flatMap((word) => wordsOf(word).slice(0, 1)),
      prefix: (term: string, position: number, terms: readonly string[]) => position === terms.length - 1 && term.length > 1,
      fuzzy: (term: string) => (term.length > 4 ? 0.2 : false),
      boostDocument: (_id: unknown, _term: string, stored: Record<string, unknown> | undefined) => {
        const kind = String(stored?.["kind"]);
        if (kind === "api" && isPlain) return 0.1;
        return (kindBoost[kind] ?? 1) * (stored?.["title"] === name && !isPlain ? 4 : 1);
      },
    };
    const all = this.#index.search(query, { ...options, combineWith: "AND" });
    const hits = all.length > 0 ? all : this.#index.search(query, { ...options, combineWith: "OR" });
    return hits.slice(0, limit).map(({ title, page, url, kind }) => ({ title, page, url, kind }));
  }
}
