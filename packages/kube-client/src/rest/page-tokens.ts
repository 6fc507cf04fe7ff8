import { UnavailableError } from "@virtual-kubelet/errdefs";
import { DecodeError } from "../errors/decode-error.ts";

/** Maximum number of pages of one list: 5 million objects in pages of 500. */
const defaultMaxPages = 10_000;

/** Checks the `continue` tokens of one list, because a server whose pages form a cycle, or do not end, would be asked forever. */
export class PageTokens {
  readonly #operation: string;
  readonly #maxPages: number;
  readonly #seen = new Set<string>();

  /** @param operation - for error messages: `list pods` */
  constructor(operation: string, maxPages: number = defaultMaxPages) {
    this.#operation = operation;
    this.#maxPages = maxPages;
  }

  /**
   * Accepts a page's token of the next page.
   *
   * @throws UnavailableError, with a DecodeError as its cause, if the token is repeated, or there are too many pages
   */
  add(token: string | undefined): void {
    if (token === undefined) return;
    if (this.#seen.has(token)) throw this.#endless("the pages lead in a circle: a page has the metadata.continue of one before");
    this.#seen.add(token);
    if (this.#seen.size >= this.#maxPages) throw this.#endless(`the list has more than ${this.#maxPages} pages`);
  }

  #endless(problem: string): UnavailableError {
    return new UnavailableError(`${this.#operation}: ${problem}; the server's paging is broken`, { cause: new DecodeError(problem) });
  }
}
