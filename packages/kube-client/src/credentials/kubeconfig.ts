import type { Clock } from "@virtual-kubelet/clock";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import type { Cluster, Context, User } from "@kubernetes/client-node/dist/config_types.js";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { environmentProxy } from "../transport/environment-proxy.ts";
import { ExecCredential, type ExecCredentialOptions } from "./exec-credential.ts";
import { FileCredentials, type TextSource } from "./file-credentials.ts";
import { impersonationHeaders, type Impersonation } from "./impersonation.ts";
import { checkFields, type Fields } from "./kubeconfig-fields.ts";
import { checkTls, type NamedSource } from "./kubeconfig-tls.ts";
import { parseProxyUrl } from "../transport/proxy-url.ts";

/** Options for reading kubeconfigs. */
export interface KubeconfigOptions {
  /** Files, as in `KUBECONFIG`; of entries with the same name the first is used. */
  readonly files: readonly string[];
  /** Default: `current-context`. */
  readonly context?: string | undefined;
  /** Environment of credential commands. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Fields of a kubeconfig's user that client-node does not read. */
interface MoreOfUser {
  readonly name: string;
  readonly user?: (Impersonation & { readonly tokenFile?: string }) | null;
}

/** The used fields of a kubeconfig's `user.exec`; kubectl writes null for empty lists. */
interface UserExec extends Pick<ExecCredentialOptions, "apiVersion" | "interactiveMode"> {
  readonly command?: string | null;
  readonly args?: ExecCredentialOptions["args"] | null;
  readonly env?: ExecCredentialOptions["env"] | null;
  readonly installHint?: string | null;
  readonly provideClusterInfo?: boolean | null;
}

/** Source of an entry. */
interface Origin {
  readonly file: string;
  /** Base of relative paths. */
  readonly folder: string;
}

type NamedCluster = Cluster & Origin;
type NamedUser = User & Origin & { readonly more: NonNullable<MoreOfUser["user"]> };

interface Merged {
  readonly clusters: Map<string, NamedCluster>;
  readonly users: Map<string, NamedUser>;
  readonly contexts: Map<string, Context>;
  currentContext: string | undefined;
}

/**
 * Reads credentials from kubeconfig files, as kubectl does: files are merged, and paths are relative to their file.
 *
 * @throws InvalidInputError naming the file and its problem
 */
export async function readKubeconfig(options: KubeconfigOptions): Promise<FileCredentials> {
  const { cluster, user } = choose(await readFiles(options.files), options);
  const whatCluster = `kubeconfig ${cluster.file}: cluster "${cluster.name}"`;
  refuseUnsupportedServer(whatCluster, cluster);
  const ca = namedSource(whatCluster, "certificate-authority", cluster.caData, cluster.caFile, cluster.folder);
  const identity = user && identityOf(`kubeconfig ${user.file}: user "${user.name}"`, user);
  await checkTls({ ca, certificate: identity?.certificate, key: identity?.key });
  return new FileCredentials({
    server: cluster.server,
    proxy: cluster.proxyUrl
      ? parseProxyUrl(cluster.proxyUrl, `${whatCluster} has proxy-url`)
      : environmentProxy(cluster.server, options.env),
    ca: ca?.source,
    serverName: cluster.tlsServerName,
    insecureSkipVerify: cluster.skipTLSVerify,
    ...identity,
    certificate: identity?.certificate?.source,
    key: identity?.key?.source,
    exec: user?.exec
      ? await execCredential(`kubeconfig ${user.file}: user "${user.name}"`, user.exec as UserExec, user.folder, cluster, options)
      : undefined,
    clock: options.clock,
  });
}

/** Returns cluster and user of the requested or current context. */
function choose(
  merged: Merged,
  { files, context: asked }: KubeconfigOptions,
): { readonly cluster: NamedCluster; readonly user?: NamedUser } {
  const where = `kubeconfig ${files.join(", ")}`;
  const name = asked ?? merged.currentContext;
  if (!name) throw new InvalidInputError(`${where}: current-context is not set; name a context: ${listOf(merged.contexts)}`);
  const context = merged.contexts.get(name);
  if (!context) throw new InvalidInputError(`${where}: there is no context "${name}", expected one of ${listOf(merged.contexts)}`);
  const cluster = merged.clusters.get(context.cluster);
  if (!cluster)
    throw new InvalidInputError(
      `${where}: context "${name}" names cluster "${context.cluster}", expected one of ${listOf(merged.clusters)}`,
    );
  const user = merged.users.get(context.user);
  if (!user && context.user)
    throw new InvalidInputError(`${where}: context "${name}" names user "${context.user}", expected one of ${listOf(merged.users)}`);
  return { cluster, ...(user && { user }) };
}

/** Returns a user's credentials except those from a command. */
function identityOf(who: string, user: NamedUser) {
  refuseUnsupportedUser(who, user);
  return {
    headers: impersonationHeaders(who, user.more),
    certificate: namedSource(who, "client-certificate", user.certData, user.certFile, user.folder),
    key: namedSource(who, "client-key", user.keyData, user.keyFile, user.folder),
    token: sourceOf(undefined, user.more.tokenFile, user.folder) ?? (user.token ? { text: user.token } : undefined),
    basic: user.username ? { username: user.username, password: user.password ?? "" } : undefined,
  };
}

async function execCredential(
  who: string,
  exec: UserExec,
  folder: string,
  cluster: Cluster & { readonly folder: string },
  { env, clock }: KubeconfigOptions,
): Promise<ExecCredential> {
  const { apiVersion, interactiveMode, command: named } = exec;
  if (!named) throw new InvalidInputError(`${who} has exec without command, expected a program that hands out credentials`);
  // A bare name is searched in PATH; a path is relative to the file. Source: client-go `tools/clientcmd/loader.go`.
  const command = named.includes("/") ? resolve(folder, named) : named;
  return new ExecCredential({
    apiVersion,
    interactiveMode,
    command,
    args: exec.args ?? [],
    env: exec.env ?? [],
    installHint: exec.installHint ?? undefined,
    cluster: exec.provideClusterInfo ? await clusterInfo(cluster) : undefined,
    processEnv: env,
    clock,
  });
}

/** Returns the cluster information for a credential command. Source: client-go `pkg/apis/clientauthentication/v1`, `Cluster`. */
async function clusterInfo(cluster: Cluster & { readonly folder: string }): Promise<Readonly<Record<string, unknown>>> {
  const caFile = cluster.caFile && resolve(cluster.folder, cluster.caFile);
  return {
    server: cluster.server,
    "tls-server-name": cluster.tlsServerName,
    "insecure-skip-tls-verify": cluster.skipTLSVerify || undefined,
    "proxy-url": cluster.proxyUrl || undefined,
    "certificate-authority-data": cluster.caData ?? (caFile && (await readFile(caFile, "base64"))),
  };
}

async function readFiles(files: readonly string[]): Promise<Merged> {
  // client-node's own KubeConfig class loads all generated models, 80 MB; this part takes 6.
  const { newClusters, newContexts, newUsers } = await import("@kubernetes/client-node/dist/config_types.js");
  const { parse } = await import("yaml");
  const merged: Merged = { clusters: new Map(), users: new Map(), contexts: new Map(), currentContext: undefined };
  for (const file of files) {
    const folder = dirname(resolve(file));
    try {
      // A pretty error quotes the line, which may hold a token.
      const raw: unknown = parse(await readFile(file, "utf8"), { prettyErrors: false });
      if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw new InvalidInputError("it is empty, expected a kubeconfig");
      checkFields(raw as Fields);
      const config = raw as { clusters?: unknown; users?: readonly MoreOfUser[]; contexts?: unknown; "current-context"?: string };
      for (const cluster of newClusters(config.clusters)) addFirst(merged.clusters, cluster.name, { ...cluster, file, folder });
      for (const user of newUsers(config.users)) {
        const more = config.users?.find(({ name }) => name === user.name)?.user ?? {};
        addFirst(merged.users, user.name, { ...user, more, file, folder });
      }
      for (const context of newContexts(config.contexts)) addFirst(merged.contexts, context.name, context);
      merged.currentContext ??= config["current-context"] || undefined;
    } catch (error) {
      throw new InvalidInputError(`kubeconfig ${file}: ${messageOf(error)}`, { cause: error });
    }
  }
  return merged;
}

function refuseUnsupportedServer(who: string, { server }: Cluster): void {
  if (URL.canParse(server) && /^https?:$/.test(new URL(server).protocol)) return;
  throw new InvalidInputError(`${who} has server "${server}", expected a URL such as https://10.0.0.1:6443`);
}

/** Refuses settings that would be silently ignored, which would look like a wrong password. */
function refuseUnsupportedUser(who: string, { authProvider }: User): void {
  if (!authProvider) return;
  const { name } = authProvider as { readonly name?: unknown };
  const [why, how] =
    name === "oidc" ? ["is not supported", "exec with a login command such as kubectl oidc-login"] : ["Kubernetes removed in 1.26", "exec"];
  throw new InvalidInputError(`${who} has auth-provider "${String(name)}", which ${why}: use ${how}, a token or a client certificate`);
}

function namedSource(
  who: string,
  field: string,
  base64: string | undefined,
  file: string | undefined,
  folder: string,
): NamedSource | undefined {
  const source = sourceOf(base64, file, folder);
  return source && { name: `${who} has ${"file" in source ? `${field} ${source.file}` : `${field}-data`}`, source };
}

function sourceOf(base64: string | undefined, file: string | undefined, folder: string): TextSource | undefined {
  if (base64) return { text: Buffer.from(base64, "base64").toString() };
  return file ? { file: isAbsolute(file) ? file : resolve(folder, file) } : undefined;
}

function addFirst<T>(map: Map<string, T>, name: string, value: T): void {
  if (!map.has(name)) map.set(name, value);
}

function listOf(map: ReadonlyMap<string, unknown>): string {
  return [...map.keys()].map((name) => `"${name}"`).join(", ") || "none, as there is none";
}
