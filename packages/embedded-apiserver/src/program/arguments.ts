import { parseArgs } from "node:util";
import type { ServerSettings } from "./serve.ts";

/** Parsed command line. */
export type Arguments =
  | { readonly action: "help" | "version" }
  | { readonly action: "serve"; readonly settings: ServerSettings }
  /** Ask a server on this machine whether it is ready. */
  | { readonly action: "ready"; readonly port: number }
  /** Write the programs that envtest starts. */
  | { readonly action: "assets"; readonly directory: string };

/** Invalid command line. The message names the flag, its value and what was expected. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Text of `--help`. */
export const usage = `Serves the Kubernetes API from memory until it is interrupted.

Usage: embedded-apiserver --kubeconfig PATH [FLAGS]
       embedded-apiserver assets DIRECTORY     write kube-apiserver and etcd for Go's envtest
       embedded-apiserver ready --port PORT    exit with 0 if the server at this port of the machine is ready

  --kubeconfig PATH         file for the administrator's kubeconfig; only its owner can read it
  --host ADDRESS            address to listen on; default 127.0.0.1
  --port PORT               port to listen on; default 0, any free port
  --certificate-host NAME   additional name or address of the serving certificate; repeatable. With --host 0.0.0.0 or ::,
                            the machine's own name and addresses are in it. EMBEDDED_APISERVER_CERTIFICATE_HOSTS adds
                            others, separated by commas
  --advertised-url URL      address of the server in the kubeconfig, such as https://api:6443; default: where it listens
  --token TOKEN             the administrator's bearer token; default: EMBEDDED_APISERVER_TOKEN, or a random one
  --context NAME            name of cluster, user and context in the kubeconfig; default embedded
  --authorization MODE      RBAC or AlwaysAllow; default RBAC
  --no-controllers          bare API server, as envtest's: no Deployments, scheduling, garbage collection or service accounts
  -h, --help                show this help
      --version             print the version
`;

/** Environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

const tokenVariable = "EMBEDDED_APISERVER_TOKEN";
const hostsVariable = "EMBEDDED_APISERVER_CERTIFICATE_HOSTS";

/**
 * Parses the command line.
 *
 * @throws UsageError that names the flag
 */
export function parseArguments(words: readonly string[], environment: Environment = {}): Arguments {
  const { values, positionals } = parse(words);
  if (values.help) return { action: "help" };
  if (values.version) return { action: "version" };
  const [command, ...operands] = positionals;
  const { kubeconfig, host, port, context, authorization } = values;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new UsageError(`--port ${JSON.stringify(port)}: expected a port from 1 to 65535, or 0 for any free port`);
  if (command !== undefined) return parseCommand(command, operands, Number(port));
  if (kubeconfig === undefined || kubeconfig === "")
    throw new UsageError("--kubeconfig: no path, expected a file to write the kubeconfig to, such as --kubeconfig ./kubeconfig");
  if (authorization !== "RBAC" && authorization !== "AlwaysAllow")
    throw new UsageError(`--authorization ${JSON.stringify(authorization)}: expected RBAC or AlwaysAllow`);
  return {
    action: "serve",
    settings: {
      kubeconfig,
      server: {
        host,
        port: Number(port),
        certificateHosts: [...values["certificate-host"], ...listOf(environment[hostsVariable])],
        ...advertised(values["advertised-url"]),
        ...tokenOf(values.token, environment[tokenVariable]),
        contextName: context,
        authorization,
        controllers: !values["no-controllers"],
        serviceAccounts: !values["no-controllers"],
      },
    },
  };
}

function parseCommand(command: string, [directory, ...surplus]: readonly string[], port: number): Arguments {
  if (command === "ready") {
    if (directory !== undefined || port === 0) throw new UsageError("ready: expected the server's port, such as ready --port 6443");
    return { action: "ready", port };
  }
  if (command !== "assets") throw new UsageError(`unknown command ${JSON.stringify(command)}: expected assets or ready; see --help`);
  if (directory === undefined || surplus.length > 0)
    throw new UsageError("assets: expected one directory for the programs, such as assets ./bin");
  return { action: "assets", directory };
}

/** Items of a list with commas. */
function listOf(text = ""): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function advertised(url: string | undefined): Pick<ServerSettings["server"], "advertisedUrl"> {
  if (url === undefined) return {};
  // They would be in every kubeconfig.
  if (url.includes("@")) throw new UsageError("--advertised-url: expected a URL such as https://api:6443, without credentials");
  if (!/^https:\/\/[^/?#\s]+\/?$/.test(url) || !URL.canParse(url))
    throw new UsageError(`--advertised-url ${JSON.stringify(url)}: expected a URL such as https://api:6443`);
  return { advertisedUrl: url.replace(/\/$/, "") };
}

/** @throws UsageError that does not contain the token */
function tokenOf(flag: string | undefined, variable: string | undefined): Pick<ServerSettings["server"], "token"> {
  const token = flag ?? (variable === "" ? undefined : variable);
  if (token === undefined) return {};
  if (!/^[\w.~+/=-]+$/.test(token))
    throw new UsageError(`${flag === undefined ? tokenVariable : "--token"}: expected letters, digits and the characters -._~+/=`);
  return { token };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        kubeconfig: { type: "string" },
        host: { type: "string", default: "127.0.0.1" },
        port: { type: "string", default: "0" },
        "certificate-host": { type: "string", multiple: true, default: [] },
        "advertised-url": { type: "string" },
        token: { type: "string" },
        context: { type: "string", default: "embedded" },
        authorization: { type: "string", default: "RBAC" },
        "no-controllers": { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
        version: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    const [message = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new UsageError(`${message.replace(/\.? To specify a positional.*$/, "")}; see --help`, { cause: error });
  }
}
