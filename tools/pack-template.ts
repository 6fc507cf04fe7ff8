import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { packTemplate } from "./template-files.ts";

// What the build of create-provider puts into its package: node tools/pack-template.ts FILE
const file = resolve(process.argv[2] ?? "template.json");
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, JSON.stringify(packTemplate()));
