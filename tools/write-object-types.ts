import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { modelsOf, writeOutModels } from "./object-types.ts";

// Last step of kube-client's build, in the package's folder: node tools/write-object-types.ts dist/rest/objects.d.ts
const file = resolve(process.argv[2] ?? "dist/rest/objects.d.ts");
writeFileSync(file, writeOutModels(readFileSync(file, "utf8"), modelsOf(process.cwd())));
