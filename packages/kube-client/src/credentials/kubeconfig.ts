import type { Clock } from "@virtual-kubelet/clock";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { environmentProxy } from "../transport/environment-proxy.ts";
import { ExecCredential } from "./exec-credential.ts";
import { FileCredentials, type TextSource } from "./file-credentials.ts";
import { impersonationHeaders } from "./impersonation.ts";
import { entriesOf, type ClusterFields, type ContextFields, type Entry, type UserExec, type UserFields } from "./kubeconfig-entries.ts";
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

/** An entry, and the file that it is from. */
interface Origin<T> extends Entry<T> {
  readonly file: string;
  /** Base of relative paths. */
  readonly folder: string;
}

type NamedCluster = Origin<ClusterFields>;
type NamedUser = Origin<UserFields>;

interface Merged {
  readonly clusters: Map<string, NamedCluster>;
  readonly users: Map<string, NamedUser>;
  readonly contexts: Map<string, ContextFields>;
  currentContext: string | undefined;
}

/**
 * Reads credentials from kubeconfig files, as kubectl does: files are merged, and paths are relative to their file.
 *
 * @throws InvalidInputError naming the file and its problem
 */
export async function readKubeconfig(options: KubeconfigOptions): Promise<FileCredentials> {
  const { cluster, user, namespace } = choose(await readFiles(options.files), options);
  const whatCluster = `kubeconfig ${cluster.file}: cluster "${cluster.name}"`;
  refuseUnsupportedServer(whatCluster, cluster.fields);
  const ca = namedSource(whatCluster, "certificate-authority", cluster);
  const who = `kubeconfig ${user?.file}: user "${user?.name}"`;
  const identity = user && identityOf(who, user);
  await checkTls({ ca, certificate: identity?.certificate, key: identity?.key });
  const { server, "proxy-url": proxy, "tls-server-name": serverName } = cluster.fields;
  return new FileCredentials({
    server,
    proxy: proxy ? parseProxyUrl(proxy, `${whatCluster} has proxy-url`) : environmentProxy(server, options.env),
    ca: ca?.source,
    serverName: serverName ?? undefined,
    insecureSkipVerify: cluster.fields["insecure-skip-tls-verify"] === true,
    namespace,
    ...identity,
    certificate: identity?.certificate?.source,
    key: identity?.key?.source,
    exec: user?.fields.exec ? await execCredential(who, user.fields.exec, user.folder, cluster, options) : undefined,
    clock: options.clock,
  });
}

/** Returns cluster and user of the requested or current context. */
function choose(
  merged: Merged,
  { files, context: asked }: KubeconfigOptions,
): { readonly cluster: NamedCluster; readonly user?: NamedUser; readonly namespace?: string | undefined } {
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
  const user = context.user ? merged.users.get(context.user) : undefined;
  if (!user && context.user)
    throw new InvalidInputError(`${where}: context "${name}" names user "${context.user}", expected one of ${listOf(merged.users)}`);
  return { cluster, ...(user && { user }), namespace: context.namespace || undefined };
}

/** Returns a user's credentials except those from a command. */
function identityOf(who: string, user: NamedUser) {
  const { token, tokenFile, username, password } = user.fields;
  refuseUnsupportedUser(who, user.fields);
  return {
    headers: impersonationHeaders(who, user.fields),
    certificate: namedSource(who, "client-certificate", user),
    key: namedSource(who, "client-key", user),
    token: sourceOf(undefined, tokenFile, user.folder) ?? (token ? { text: token } : undefined),
    basic: username ? { username, password: password ?? "" } : undefined,
  };
}

async function execCredential(
  who: string,
  exec: UserExec,
  folder: string,
  cluster: NamedCluster,
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
async function clusterInfo({ fields, folder }: NamedCluster): Promise<Readonly<Record<string, unknown>>> {
  const ca = sourceOf(fields["certificate-authority-data"], fields["certificate-authority"], folder);
  return {
    server: fields.server,
    "tls-server-name": fields["tls-server-name"] ?? undefined,
    "insecure-skip-tls-verify": fields["insecure-skip-tls-verify"] || undefined,
    "proxy-url": fields["proxy-url"] || undefined,
    "certificate-authority-data":
      fields["certificate-authority-data"] ?? (ca && "file" in ca ? await readFile(ca.file, "base64") : undefined),
  };
}

async function readFiles(files: readonly string[]): Promise<Merged> {
  const { parseFirstDocument } = await import("./yaml.ts");
  const merged: Merged = { clusters: new Map(), users: new Map(), contexts: new Map(), currentContext: undefined };
  for (const file of files) {
    const folder = dirname(resolve(file));
    try {
      const raw = parseFirstDocument(await readFile(file, "utf8"));
      if (raw === null || raw === undefined) throw new InvalidInputError("it is empty, expected a kubeconfig");
      if (typeof raw !== "object" || Array.isArray(raw)) throw new InvalidInputError("it has no fields, expected a kubeconfig");
      checkFields(raw as Fields);
      const { clusters, users, contexts, currentContext } = entriesOf(raw as Fields);
      for (const cluster of clusters) addFirst(merged.clusters, cluster.name, { ...cluster, file, folder });
      for (const user of users) addFirst(merged.users, user.name, { ...user, file, folder });
      for (const { name, fields } of contexts) addFirst(merged.contexts, name, fields);
      merged.currentContext ??= currentContext;
    } catch (error) {
      throw new InvalidInputError(`kubeconfig ${file}: ${messageOf(error)}`, { cause: error });
    }
  }
  return merged;
}

function refuseUnsupportedServer(who: string, { server }: ClusterFields): void {
  if (URL.canParse(server) && /^https?:$/.test(new URL(server).protocol)) return;
  throw new InvalidInputError(`${who} has server "${server}", expected a URL such as https://10.0.0.1:6443`);
}

/** Refuses settings that would be silently ignored, which would look like a wrong password. */
function refuseUnsupportedUser(who: string, { "auth-provider": provider }: UserFields): void {
  if (!provider) return;
  const { name } = provider;
  const [why, how] =
    name === "oidc" ? ["is not supported", "exec with a login command such as kubectl oidc-login"] : ["Kubernetes removed in 1.26", "exec"];
  throw new InvalidInputError(`${who} has auth-provider "${String(name)}", which ${why}: use ${how}, a token or a client certificate`);
}

/** Returns the source of a PEM text, which is in the field itself as a file's path or in `…-data`. */
function namedSource<Field extends string>(
  who: string,
  field: Field,
  { fields, folder }: { readonly fields: { readonly [K in Field | `${Field}-data`]?: string | null }; readonly folder: string },
): NamedSource | undefined {
  const source = sourceOf(fields[`${field}-data`], fields[field], folder);
  return source && { name: `${who} has ${"file" in source ? `${field} ${source.file}` : `${field}-data`}`, source };
}

function sourceOf(base64: string | null | undefined, file: string | null | undefined, folder: string): TextSource | undefined {
  if (base64) return { text: Buffer.from(base64, "base64").toString() };
  return file ? { file: isAbsolute(file) ? file : resolve(folder, file) } : undefined;
}

function addFirst<T>(map: Map<string, T>, name: string, value: T): void {
  if (!map.has(name)) map.set(name, value);
}

function listOf(map: ReadonlyMap<string, unknown>): string {
  return [...map.keys()].map((name) => `"${name}"`).join(", ") || "none, as there is none";
}
