import { join } from "node:path";

/** The repository's top folder. */
export const root: string = join(import.meta.dirname, "../../..");

/** Where the report on a provider goes; the documentation's capability matrix is made from it. */
export function reportFile(provider: string): string {
  return join(root, ".reports/conformance", `${provider}.json`);
}
