import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { packInto } from "./packed-packages.ts";

// npm run -s pack -- FOLDER: every published package as it would go to the registry, under the name that `npm pack` gives it.
const [folder, surplus] = process.argv.slice(2);
if (folder === undefined || surplus !== undefined) {
  console.error("usage: npm run -s pack -- FOLDER");
  process.exitCode = 2;
} else {
  try {
    const path = resolve(process.env["INIT_CWD"] ?? ".", folder);
    mkdirSync(path, { recursive: true });
    for (const { owner, tarball } of await packInto(path)) console.log(`${owner.manifest.name} is packed into ${tarball}`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
