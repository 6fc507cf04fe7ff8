import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { demoOutput, demoPicture } from "./demo-output.ts";
import { renderTerminal, shownLines } from "./terminal-picture.ts";

// Writes the README's picture of the demo, from a run: npm run demo-picture
mkdirSync(dirname(demoPicture), { recursive: true });
writeFileSync(demoPicture, renderTerminal("make demo", shownLines(await demoOutput())));
