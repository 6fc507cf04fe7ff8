import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ChainTarget, PluginResult } from "./plugin-chain.ts";

/** Record of a sandbox's connection: everything that DEL needs, whatever the configuration says by then. */
export interface Attachment extends Omit<ChainTarget, "containerId" | "namespace"> {
  /** Result of ADD; `undefined` while ADD is in progress, or if the program ended during it. */
  readonly result?: PluginResult | undefined;
}

/** Records of the sandboxes' connections, one file each, in a folder that only its owner can read. */
export class Attachments {
  readonly #folder: string;
  readonly #known = new Map<string, Attachment>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Ids of all sandboxes with a record. */
  async ids(): Promise<readonly string[]> {
    try {
      const names = await readdir(this.#folder);
      return names.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** `undefined` for a sandbox without a record. @throws UnavailableError if the record is damaged */
  async get(sandboxId: string): Promise<Attachment | undefined> {
    const known = this.#known.get(sandboxId);
    if (known !== undefined) return known;
    const path = this.#path(sandboxId);
    const content = await readFile(path, "utf8").catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    if (content === undefined) return undefined;
    try {
      const read = JSON.parse(content) as Attachment;
      this.#known.set(sandboxId, read);
      return read;
    } catch (cause) {
      throw new UnavailableError(
        `read ${path}: ${messageOf(cause)}; free what the network plugins keep for this sandbox by hand, then remove the file`,
        { cause },
      );
    }
  }

  /** Writes a record atomically. */
  async set(sandboxId: string, attachment: Attachment): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#path(sandboxId);
    await writeFile(`${path}.new`, JSON.stringify(attachment), { mode: 0o600, flush: true });
    await rename(`${path}.new`, path);
    this.#known.set(sandboxId, attachment);
  }

  async delete(sandboxId: string): Promise<void> {
    this.#known.delete(sandboxId);
    await rm(this.#path(sandboxId), { force: true });
  }

  #path(sandboxId: string): string {
    return join(this.#folder, `${sandboxId}.json`);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
