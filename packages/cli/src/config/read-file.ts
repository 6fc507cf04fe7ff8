import { messageOf } from "@virtual-kubelet/errdefs";
import { readFile } from "node:fs/promises";
import { ConfigError } from "../program-error.ts";
import { parseText } from "./parse-text.ts";

/** A configuration file, with its name for the user. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  /** Path as the user wrote it. */
  readonly shown: string;
  /** Setting that names the file, such as `--config`. */
  readonly setting: string;
}

/** Reads a file. @throws ConfigError on one line */
export async function readText({ path, shown, setting }: ConfigFile): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new ConfigError(`${setting}: ${JSON.stringify(shown)}: ${reasonOf(error)}, expected a readable file`, { cause: error });
  }
}

/** Reads and parses a configuration file. @returns `undefined` for an empty file @throws ConfigError on one line */
export async function readConfigFile(file: ConfigFile): Promise<unknown> {
  const { path, shown } = file;
  const text = await readText(file);
  try {
    return (await parseText(path, text)) ?? undefined;
  } catch (error) {
    throw new ConfigError(`${shown}: ${messageOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" ? "not there" : code === "EACCES" ? "permission denied" : code === "EISDIR" ? "a folder" : messageOf(error);
}
