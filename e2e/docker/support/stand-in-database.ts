import { readFileSync } from "node:fs";
import { join } from "node:path";
import { busyboxFileSystem, importImage } from "./busybox-image.ts";
import type { EngineApi } from "./engine-api.ts";

const image = "stand-in-database:1";

/** Content of a database as reported by its server. */
export interface DatabaseContent {
  /** Created with the database and never changed. */
  readonly systemId: string;
  readonly rows: readonly string[];
}

/** Imports the image of `stand-in-database.sh` into the engine. */
export async function importDatabase(engine: EngineApi): Promise<void> {
  const content = readFileSync(join(import.meta.dirname, "stand-in-database.sh"));
  const bytes = await busyboxFileSystem([{ name: "bin/database", mode: 0o755, content }]);
  await importImage(engine, image, { bytes, changes: ['CMD ["database"]', "EXPOSE 5432"] });
}

/** Client of a database server at an address such as `198.18.3.2:5432`. */
export class DatabaseClient {
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
  }

  /** @param value - letters, digits and dashes @throws Error if the write is not acknowledged; the row may still have been written */
  async insert(value: string): Promise<void> {
    const answer = await this.#ask(`insert?${value}`);
    if (!/^INSERT \d+\n$/.test(answer)) throw new Error(`insert ${value}: ${answer}`);
  }

  async selectAll(): Promise<DatabaseContent> {
    return contentOf(await this.#ask("select_all"));
  }

  async #ask(path: string): Promise<string> {
    const response = await fetch(`http://${this.#address}/cgi-bin/${path}`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  }
}

/** @param text - the system ID, and a line `NUMBER VALUE` for each row */
export function contentOf(text: string): DatabaseContent {
  const [systemId = "", ...lines] = text.trimEnd().split("\n");
  return { systemId, rows: lines.map((line) => line.slice(line.indexOf(" ") + 1)) };
}
