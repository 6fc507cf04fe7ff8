import { tryDurationMs } from "@virtual-kubelet/core";
import { join } from "node:path";
import { isOn, valueOf, valuesOf, type CommandLine } from "../command-line/flag-parser.ts";
import { envNamesOf, flagsOf } from "../command-line/flags.ts";
import { defaults } from "../config/defaults.ts";
import { absolutePath } from "../config/load-settings.ts";
import { readText } from "../config/read-file.ts";
import { isNodeName } from "../config/schema.ts";
import type { Context } from "../context.ts";
import { defaultCertDirectory } from "../kubelet-server/cert-directory.ts";
import { UsageError } from "../program-error.ts";
import { parseBootstrapToken, type BootstrapToken } from "./bootstrap-token.ts";
import { parsePin } from "./ca-pins.ts";

/** How the API server and its authority are found. */
type Discovery =
  /** By the cluster's own config map, which the token has signed. */
  | { readonly kind: "token"; readonly server: string; readonly token: BootstrapToken; readonly pins: readonly string[] }
  | { readonly kind: "authority"; readonly server: string; readonly token: BootstrapToken; readonly caFile: string }
  /** By a kubeconfig. Without a token its own user makes the request. */
  | { readonly kind: "file"; readonly file: string; readonly token: BootstrapToken | undefined };

/** Settings of `join`. Paths are absolute. */
export interface JoinOptions {
  readonly nodeName: string;
  /** Folder of the node's certificates. */
  readonly directory: string;
  /** Whether the user chose {@link directory}, so that `run` needs the flag as well. */
  readonly isDirectoryChosen: boolean;
  /** Kubeconfig that is written. */
  readonly kubeconfig: string;
  readonly discovery: Discovery;
  /** `undefined`: no limit. */
  readonly timeoutMs: number | undefined;
  readonly force: boolean;
}

const defaultPort = 6443;

const oneWay =
  "expected one way to find the cluster: HOST:PORT with --token and --discovery-token-ca-cert-hash, HOST:PORT with --token and --certificate-authority, or --discovery-file";

/** Name of the written kubeconfig in the folder of the certificates. */
const kubeconfigName = "kubeconfig";

/** Reads the options of `join`. @throws UsageError */
export async function joinOptionsOf(line: CommandLine, context: Context): Promise<JoinOptions> {
  const nodeName = settingOf(line, "nodename", context) ?? defaults.nodeName;
  if (!isNodeName(nodeName))
    throw new UsageError(`--nodename: ${JSON.stringify(nodeName)}: expected lower-case letters, digits, '-' and '.', such as vk-1`);
  const discovery = await discoveryOf(line, context);
  const chosen = settingOf(line, "cert-dir", context);
  const directory = chosen === undefined ? defaultCertDirectory(nodeName, context) : absolutePath(context.cwd, chosen, context);
  const timeout = valueOf(line, "timeout") ?? defaults.joinTimeout;
  const timeoutMs = tryDurationMs(timeout) ?? 0;
  if (timeoutMs === 0) throw new UsageError(`--timeout: ${JSON.stringify(timeout)}: expected a duration above 0, such as 30s or 10m`);
  return {
    nodeName,
    directory,
    isDirectoryChosen: chosen !== undefined,
    kubeconfig: absolutePath(context.cwd, valueOf(line, "kubeconfig") ?? join(directory, kubeconfigName), context),
    discovery,
    timeoutMs,
    force: isOn(line, "force"),
  };
}

async function discoveryOf(line: CommandLine, context: Context): Promise<Discovery> {
  const [endpoint] = line.args;
  const file = valueOf(line, "discovery-file");
  const caFile = valueOf(line, "certificate-authority");
  const pins = valuesOf(line, "discovery-token-ca-cert-hash")
    .flatMap((text) => text.split(","))
    .map(pinOf);
  const isUnpinned = isOn(line, "discovery-token-unsafe-skip-ca-verification");
  const ways = [file, caFile, pins.length > 0 || isUnpinned ? "pins" : undefined].filter((way) => way !== undefined);
  if (ways.length > 1 || (file !== undefined) === (endpoint !== undefined)) throw new UsageError(`join: ${oneWay}`);
  const token = await tokenOf(line, context);
  if (file !== undefined) return { kind: "file", file: absolutePath(context.cwd, file, context), token };
  const server = serverOf(endpoint ?? "");
  if (token === undefined) throw new UsageError("--token: missing, expected a bootstrap token; kubeadm token create prints one");
  if (caFile !== undefined) return { kind: "authority", server, token, caFile: absolutePath(context.cwd, caFile, context) };
  if (pins.length === 0 && !isUnpinned) {
    throw new UsageError(
      "--discovery-token-ca-cert-hash: missing: without it anybody who knows the token could pretend to be the API server; " +
        "kubeadm token create --print-join-command prints it, and --discovery-token-unsafe-skip-ca-verification does without it",
    );
  }
  return { kind: "token", server, token, pins };
}

async function tokenOf(line: CommandLine, context: Context): Promise<BootstrapToken | undefined> {
  const [given, file] = [valueOf(line, "token"), valueOf(line, "token-file")];
  if (given !== undefined && file !== undefined) throw new UsageError("--token, --token-file: expected only one of them");
  const text =
    file === undefined ? given : await readText({ path: absolutePath(context.cwd, file, context), shown: file, setting: "--token-file" });
  if (text === undefined) return undefined;
  const token = parseBootstrapToken(text.trim());
  if (token) return token;
  // The text is not shown, because it may be a secret.
  const name = file === undefined ? "--token" : `--token-file ${file}`;
  throw new UsageError(`${name}: expected a bootstrap token, 6 and 16 lower-case letters and digits, such as abcdef.0123456789abcdef`);
}

function pinOf(text: string): string {
  const pin = parsePin(text.trim());
  if (pin !== undefined) return pin;
  throw new UsageError(`--discovery-token-ca-cert-hash: ${JSON.stringify(text)}: expected sha256: and 64 hexadecimal digits`);
}

/** URL of `HOST:PORT`; a scheme and the default port may be left out. */
function serverOf(endpoint: string): string {
  const text = endpoint.includes("://") ? endpoint : `https://${endpoint}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBare = url?.protocol === "https:" && url.pathname === "/" && !url.search && !url.hash && !url.username && url.hostname !== "";
  if (!url || !isBare) throw new UsageError(`${JSON.stringify(endpoint)}: expected the API server's HOST:PORT, such as 10.0.0.1:6443`);
  // The URL class leaves out 443.
  const hasPort = /:\d+\/?$/.test(text);
  return hasPort ? url.origin : `${url.origin}:${defaultPort}`;
}

/** Value of a flag, or of its environment variables. */
function settingOf(line: CommandLine, name: string, { env }: Pick<Context, "env">): string | undefined {
  const flag = flagsOf("join").find((candidate) => candidate.name === name);
  const variables = flag ? envNamesOf(flag).map((variable) => env[variable]) : [];
  return valueOf(line, name) ?? variables.find((value) => value !== undefined && value !== "");
}
