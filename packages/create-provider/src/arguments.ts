import { parseArgs } from "node:util";
import { CreateError } from "./create-error.ts";
import type { Project } from "./project.ts";

/** Parsed command line. */
export interface Arguments extends Partial<Omit<Project, "kind">> {
  /** Not validated yet. */
  readonly kind?: string;
  /** Do not ask anything. */
  readonly yes: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

/** Text of `--help`. */
export const usage = `Begins a provider of Virtual Kubelet: a project that builds, passes the suite of all providers, and runs.

Usage: npm create @virtual-kubelet/provider [NAME] -- [FLAGS]

  --name NAME           what the provider is called, such as my-cloud; the same as NAME
  --kind KIND           process: runs pods as processes of this machine (default);
                        remote: runs pods as jobs of an API, with a fake API to begin with
  --description TEXT    one line; default "Virtual Kubelet provider for NAME"
  --package NAME        name of its npm package; default virtual-kubelet-provider-NAME
  --directory PATH      folder to write; default the package's name without its scope
  --tarballs PATH       folder of packed packages to install in place of published ones
  -y, --yes             ask nothing, take the defaults
  -h, --help            show this help
      --version         print the version
`;

/** Parses the command line. @throws CreateError naming the flag */
export function parseArguments(words: readonly string[]): Arguments {
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        name: { type: "string" },
        kind: { type: "string" },
        description: { type: "string" },
        package: { type: "string" },
        directory: { type: "string" },
        tarballs: { type: "string" },
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
