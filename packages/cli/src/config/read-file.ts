import { messageOf } from "@virtual-kubelet/errdefs";
import { readFile } from "node:fs/promises";
import { ConfigError } from "../program-error.ts";
import { parseText } from "./parse-text.ts";

/** A configuration file, and what names it. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  /** As the person wrote it. */
  readonly shown: string;
  /** Where the name comes from, such as `--config`. */
  readonly setting: string;
}

/**
 * Reads a configuration file.
 *
 * @returns `undefined` for an empty file
 * @throws ConfigError on one line
 */
export async function readConfigFile({ path, shown, setting }: ConfigFile): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new ConfigError(`${setting}: ${JSON.stringify(shown)}: ${reasonOf(error)}, expected a file that can be read`, { cause: error });
  }
  try {
    return (await parseText(path, text)) ?? undefined;
  } catch (error) {
    throw new ConfigError(`${shown}: ${messageOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" ? "not there" : code === "EACCES" ? "not allowed to read it" : code === "EISDIR" ? "a folder" : messageOf(error);
}
