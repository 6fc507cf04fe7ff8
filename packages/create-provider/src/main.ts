#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import type { Asker } from "./complete-project.ts";
import { create } from "./create.ts";
import { readTemplate } from "./template.ts";

const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8")) as { version: string };

/** Asks on the terminal. */
const asker: Asker = {
  async ask(question, standard) {
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    try {
      return (await lines.question(standard === "" ? `${question}: ` : `${question} (${standard}): `)).trim() || standard;
    } finally {
      lines.close();
    }
  },
  refuse: (problem) => void process.stderr.write(`  ${problem}\n`),
};

process.exitCode = await create(process.argv.slice(2), {
  cwd: process.cwd(),
  asker: process.stdin.isTTY && process.stdout.isTTY ? asker : undefined,
  version,
  template: readTemplate,
  print: (text) => void process.stdout.write(text),
  printError: (text) => void process.stderr.write(text),
});
