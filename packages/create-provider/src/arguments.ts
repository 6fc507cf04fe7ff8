import { parseArgs } from "node:util";
import { CreateError } from "./create-error.ts";
import type { Project } from "./project.ts";

/** What the command line says. */
export interface Arguments extends Partial<Project> {
  /** Whether nothing is asked. */
  readonly yes: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

/** What `--help` shows. */
export const usage = `Begins a provider of Virtual Kubelet: a project that builds, passes the suite of all providers, and runs.

Usage: npm create @virtual-kubelet/provider [NAME] -- [FLAGS]

  --name NAME           what the provider is called, such as my-cloud; the same as NAME
  --description TEXT    one line; default "Virtual Kubelet provider for NAME"
  --package NAME        name of its npm package; default virtual-kubelet-provider-NAME
  --directory PATH      folder to write; default the package's name without its scope
  -y, --yes             ask nothing, take the defaults
  -h, --help            show this help
      --version         print the version
`;

/**
 * Reads the command line.
 *
 * @throws CreateError naming the flag
 */
export function parseArguments(words: readonly string[]): Arguments {
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        name: { type: "string" },
        description: { type: "string" },
        package: { type: "string" },
        directory: { type: "string" },
        yes: { type: "boolean", short: "y", default: false },
        help: { type: "boolean", short: "h", default: false },
        version: { type: "boolean", default: false },
      },
    });
    const { package: packageName, yes, help, version, ...named } = values;
    const [first, second] = positionals;
    if (second !== undefined) throw new CreateError(`${JSON.stringify(second)}: unexpected argument, expected one name; see --help`);
    return { ...(first !== undefined && { name: first }), ...named, ...(packageName !== undefined && { packageName }), yes, help, version };
  } catch (error) {
    if (error instanceof CreateError) throw error;
    const [message = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new CreateError(`${message.replace(/\.? To specify a positional.*$/, "")}; see --help`, { cause: error });
  }
}
