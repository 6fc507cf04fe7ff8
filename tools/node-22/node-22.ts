import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder that holds the program `node` of Node.js 22, the oldest that the libraries support. */
export const node22Folder: string = join(dirname(fileURLToPath(import.meta.resolve("node/package.json"))), "bin");
