import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ExecCredentialOptions } from "./exec-credential.ts";
import type { Impersonation } from "./impersonation.ts";
import type { Fields } from "./kubeconfig-fields.ts";

/** Fields as the YAML parser returns them; kubectl writes null for empty ones. */
type Written<T> = { readonly [K in keyof T]?: T[K] | null };

/** A kubeconfig's cluster, with the field names of the file. */
export interface ClusterFields extends Written<{
  "certificate-authority": string;
  "certificate-authority-data": string;
  "tls-server-name": string;
  "insecure-skip-tls-verify": boolean;
  "proxy-url": string;
}> {
  /** Without a slash at the end. */
  readonly server: string;
}

/** A kubeconfig's user, with the field names of the file. */
export type UserFields = Impersonation &
  Written<{
    token: string;
    tokenFile: string;
    username: string;
    password: string;
    "client-certificate": string;
    "client-certificate-data": string;
    "client-key": string;
    "client-key-data": string;
    exec: UserExec;
    "auth-provider": { readonly name?: unknown };
  }>;

/** The used fields of a kubeconfig's `user.exec`. */
export type UserExec = Pick<ExecCredentialOptions, "apiVersion" | "interactiveMode"> &
  Written<Pick<ExecCredentialOptions, "args" | "env" | "installHint"> & { command: string; provideClusterInfo: boolean }>;

/** A kubeconfig's context. */
export interface ContextFields extends Written<{ user: string; namespace: string }> {
  readonly cluster: string;
}

/** An entry of one of the lists. */
export interface Entry<T> {
  readonly name: string;
  readonly fields: T;
}

/** The lists of a kubeconfig. */
export interface KubeconfigEntries {
  readonly clusters: readonly Entry<ClusterFields>[];
  readonly users: readonly Entry<UserFields>[];
  readonly contexts: readonly Entry<ContextFields>[];
  readonly currentContext: string | undefined;
}

/**
 * Returns the lists of a kubeconfig whose fields have the right types; see `checkFields`.
 *
 * @throws InvalidInputError naming the first entry that lacks a field
 */
export function entriesOf(config: Fields): KubeconfigEntries {
  return {
    clusters: listOf<ClusterFields>(config, "clusters", "cluster", "server").map(({ name, fields }) => ({
      name,
      fields: { ...fields, server: fields.server.replace(/\/$/, "") },
    })),
    users: listOf<UserFields>(config, "users", "user"),
    contexts: listOf<ContextFields>(config, "contexts", "context", "cluster"),
    currentContext: (config["current-context"] as string | null | undefined) || undefined,
  };
}

/** @param required - the field without which an entry is useless; default: the entry may be empty */
function listOf<T>(config: Fields, list: string, kind: string, required?: string): Entry<T>[] {
  const entries = (config[list] ?? []) as readonly Fields[];
  return entries.map((entry, index) => {
    const fields = (entry[kind] ?? undefined) as Fields | undefined;
    const missing = (path: string) => new InvalidInputError(`${list}[${index}].${path} is missing`);
    if (!entry["name"]) throw missing("name");
    if (required !== undefined && fields === undefined) throw missing(kind);
    if (required !== undefined && !fields?.[required]) throw missing(`${kind}.${required}`);
    return { name: entry["name"] as string, fields: (fields ?? {}) as T };
  });
}
