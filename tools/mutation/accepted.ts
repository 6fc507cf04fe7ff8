import { parse } from "yaml";
import { z } from "zod";
import type { Mutant } from "./mutants.ts";
import { identityOf } from "./sample.ts";

/** A mutant that no test has to notice. */
export interface Accepted {
  readonly file: string;
  readonly within: string;
  readonly original: string;
  readonly mutated: string;
  readonly nth: number;
  /** Why it changes nothing, or why no unit test can tell. */
  readonly reason: string;
}

const schema = z.array(
  z.strictObject({
    file: z.string(),
    in: z.string().default(""),
    original: z.string(),
    mutant: z.string(),
    nth: z.int().min(1).default(1),
    reason: z.string().min(10),
  }),
);

/**
 * Parses a file of accepted mutants.
 *
 * @param path - names the file in messages
 * @throws Error with one line
 */
export function parseAccepted(text: string, path: string): Accepted[] {
  const parsed = schema.safeParse(parse(text) ?? []);
  if (parsed.success) return parsed.data.map(({ in: within, mutant, ...rest }) => ({ ...rest, within, mutated: mutant }));
  const [issue] = parsed.error.issues;
  throw new Error(`${path}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is no list of accepted mutants"}`);
}

/** The accepted mutants among all of a package, and the entries that name none of them. */
export function findAccepted(
  accepted: readonly Accepted[],
  mutants: readonly Mutant[],
): { readonly found: ReadonlyMap<Mutant, Accepted>; readonly gone: readonly Accepted[] } {
  const byIdentity = new Map(mutants.map((mutant) => [identityOf(mutant), mutant]));
  const found = new Map<Mutant, Accepted>();
  const gone: Accepted[] = [];
  for (const entry of accepted) {
    const mutant = byIdentity.get(identityOf(entry));
    if (mutant === undefined) gone.push(entry);
    else found.set(mutant, entry);
  }
  return { found, gone };
}
