import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { registryKey } from "./registry-key.ts";

/** Name and password, or a token, for a registry. It is a secret. */
export type RegistryCredentials =
  | { readonly username: string; readonly password: string }
  | { readonly identityToken: string }
  | { readonly registryToken: string };

/** A credential and the images that it is for. It is a secret. */
export interface RegistryEntry {
  /** A key of `auths` without scheme and version, such as `quay.io/coreos` or `*.example.com:5000`. */
  readonly key: string;
  readonly credentials: RegistryCredentials;
}

/** The credentials in a Docker configuration file. */
export interface DockerConfig {
  readonly entries: readonly RegistryEntry[];
  /** Program of one registry, by key: `docker-credential-NAME`. */
  readonly helpers: ReadonlyMap<string, string>;
  /** Program for all registries without one of their own. */
  readonly store: string | undefined;
}

/**
 * Reads `config.json`, which is also what a secret of type `kubernetes.io/dockerconfigjson` holds. An entry that holds no
 * credential is left out.
 *
 * @throws InvalidInputError for text that is no such file; it shows nothing of the text
 */
export function parseDockerConfig(text: string): DockerConfig {
  const { auths, credHelpers, credsStore } = parseObject(text);
  const helpers = Object.entries(isJsonObject(credHelpers) ? credHelpers : {}).flatMap(([location, name]) =>
    typeof name === "string" ? [[registryKey(location), name] as const] : [],
  );
  return { entries: readEntries(auths), helpers: new Map(helpers), store: typeof credsStore === "string" ? credsStore : undefined };
}

/** Reads `.dockercfg`, which is also what a secret of type `kubernetes.io/dockercfg` holds; as {@link parseDockerConfig}. */
export function parseLegacyDockerConfig(text: string): readonly RegistryEntry[] {
  return readEntries(parseObject(text));
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // JSON.parse quotes what it could not read: that may be a password.
  }
  if (!isJsonObject(parsed)) throw new InvalidInputError("read registry credentials: expected a JSON object");
  return parsed;
}

function readEntries(auths: unknown): readonly RegistryEntry[] {
  return Object.entries(isJsonObject(auths) ? auths : {}).flatMap(([location, entry]) => {
    const credentials = isJsonObject(entry) ? readCredentials(entry) : undefined;
    return credentials ? [{ key: registryKey(location), credentials }] : [];
  });
}

function readCredentials(entry: Readonly<Record<string, unknown>>): RegistryCredentials | undefined {
  const text = (name: string): string => (typeof entry[name] === "string" ? entry[name] : "");
  if (text("identitytoken")) return { identityToken: text("identitytoken") };
  if (text("registrytoken")) return { registryToken: text("registrytoken") };
  const [, username = text("username"), password = text("password")] = decodeAuth(text("auth")) ?? [];
  return username || password ? { username, password } : undefined;
}

/** `auth` is user and password, joined by a colon, in base64 with or without padding. */
function decodeAuth(auth: string): RegExpExecArray | null {
  return /^([^:]*):(.*)$/s.exec(Buffer.from(auth.trim(), "base64").toString("utf8"));
}
