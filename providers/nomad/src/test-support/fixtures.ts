import { readFile } from "node:fs/promises";

/** An answer recorded from a real agent; `_source` in the file says of which version, and when. */
export interface Fixture<Body> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

/** @param name - of a file in `fixtures/`, without `.json` */
export async function readFixture<Body>(name: string): Promise<Fixture<Body>> {
  return JSON.parse(await readFile(new URL(`../../fixtures/${name}.json`, import.meta.url), "utf8")) as Fixture<Body>;
}
