import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

/** A bug that is put back: pieces of source that are replaced when their file is loaded. */
export interface Mutation {
  /** The fault, in one sentence. */
  readonly about: string;
  readonly edits: readonly Edit[];
  /** A world that found it, which is tried first; the others follow where code or model have moved on. Default: 0. */
  readonly seed?: number;
}

/** A piece of source and what it becomes. */
interface Edit {
  /** Path from the repository's top. */
  readonly file: string;
  /** Must be in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** From now on modules are loaded with the bug in them. */
export function mutate(mutations: Readonly<Record<string, Mutation>>, name: string): void {
  const mutation = mutations[name];
  if (!mutation) throw new Error(`there is no mutation ${name}; expected one of ${Object.keys(mutations).join(", ")}`);
  const urls = new Set(mutation.edits.map(({ file }) => urlOf(file)));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!urls.has(url)) return loaded;
      return { ...loaded, source: mutatedSource(mutation, url) };
    },
  });
}

/**
 * The text of a file with the bug in it.
 *
 * @throws Error if a piece is not in the file exactly once: the code has moved on, and the mutation must follow
 */
export function mutatedSource({ edits }: Mutation, url: string): string {
  let text = readFileSync(new URL(url), "utf8");
  for (const { file, find, replace } of edits.filter((edit) => urlOf(edit.file) === url)) {
    const pieces = text.split(find).length - 1;
    if (pieces !== 1) throw new Error(`${file} holds ${pieces} times, not once: ${find}`);
    text = text.replace(find, () => replace);
  }
  return text;
}

/** Path of a file of the repository. */
export function urlOf(file: string): string {
  return new URL(`../../${file}`, import.meta.url).href;
}
