import { relative, resolve } from "node:path";
import { parseArguments, usage } from "./arguments.ts";
import { completeProject, type Asker } from "./complete-project.ts";
import { CreateError } from "./create-error.ts";
import { projectFiles } from "./project-files.ts";
import { findTarballs } from "./tarballs.ts";
import type { Template } from "./template.ts";
import { checkDirectory, writeFiles } from "./write-files.ts";

/** Everything that the program takes from its process. */
export interface CreateContext {
  /** Relative paths start here. */
  readonly cwd: string;
  /** `undefined` if nobody can be asked. */
  readonly asker: Asker | undefined;
  /** Version of this package. */
  readonly version: string;
  template(): Promise<Template>;
  print(text: string): void;
  printError(text: string): void;
}

/**
 * Runs the program.
 *
 * @param words - command line without node and program
 * @returns exit code: 0, or 1 after printing one line and writing nothing
 */
export async function create(words: readonly string[], context: CreateContext): Promise<number> {
  try {
    const given = parseArguments(words);
    if (given.help || given.version) {
      context.print(given.help ? usage : `${context.version}\n`);
      return 0;
    }
    const project = await completeProject(given, given.yes ? undefined : context.asker);
    const path = resolve(context.cwd, project.directory);
    await checkDirectory(path, project.directory);
    const template = await context.template();
    const tarballs =
      project.tarballs === undefined ? {} : await findTarballs(resolve(context.cwd, project.tarballs), project.tarballs, template.packages);
    const files = projectFiles(template, project, tarballs);
    await writeFiles(path, files);
    const folder = relative(context.cwd, path);
    const enter = folder === "" ? [] : [`  cd ${folder}`];
    const fake = project.kind === "remote" ? ["  npm run fake-api   # in a terminal of its own"] : [];
    const next = [...enter, "  npm install", "  npm test", ...fake, "  npm start -- --nodename my-node"];
    context.print(`wrote ${project.packageName}${folder === "" ? "" : ` into ${folder}`}; next:\n\n${next.join("\n")}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof CreateError)) throw error;
    context.printError(`create-provider: ${error.message}\n`);
    return 1;
  }
}
