import { homeDirectory } from "@virtual-kubelet/core";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { existsSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { parse } from "yaml";
import type { ZunAuthConfig } from "./schema.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Paths of clouds.yaml; the first existing file is used.
 * Source: openstacksdk 4.22 openstack/config/loader.py.
 */
function searchPath(): string[] {
  const folders = [".", join(homeDirectory(), ".config/openstack"), "/etc/xdg/openstack", "/etc/openstack"];
  return folders.flatMap((folder) => ["clouds.yaml", "clouds.yml", "clouds.json"].map((name) => join(folder, name)));
}

/**
 * Completes a configuration from clouds.yaml. A secure.yaml in the same folder overrides its values. If a cloud is named, only its
 * credentials are used, and environment variables do not override them; region, interface and certificates of the configuration do. If no
 * cloud is named and the configuration has no credentials, a file with exactly one cloud is used.
 *
 * @throws InvalidInputError with the file and the cloud, never with a value
 */
export function withClouds(config: ZunAuthConfig, paths: readonly string[] = searchPath()): ZunAuthConfig {
  if (config.cloud === undefined && config.authUrl !== undefined) return config;
  const path = config.cloudsFile ?? paths.find((candidate) => existsSync(candidate));
  if (path === undefined) {
    if (config.cloud === undefined) return config;
    throw new InvalidInputError(`find cloud ${JSON.stringify(config.cloud)}: there is no clouds.yaml; expected one of ${paths.join(", ")}`);
  }
  const clouds = merge(readClouds(path), readClouds(join(dirname(path), `secure${extname(path)}`)));
  const names = Object.keys(clouds);
  const name = config.cloud ?? (names.length === 1 ? names[0] : undefined);
  const cloud = name === undefined ? undefined : clouds[name];
  if (!isJsonObject(cloud)) {
    const wanted = config.cloud === undefined ? "the one to use (it has several, so set cloud or OS_CLOUD)" : JSON.stringify(config.cloud);
    throw new InvalidInputError(
      `find cloud ${wanted} in ${path}: it has ${names.map((each) => JSON.stringify(each)).join(", ") || "none"}`,
    );
  }
  return { ...fromCloud(cloud, config), ...networking(config) };
}

/** Settings of the configuration that override the file's. */
function networking({ containerEndpoint, networkEndpoint }: ZunAuthConfig): ZunAuthConfig {
  return {
    ...(containerEndpoint !== undefined && { containerEndpoint }),
    ...(networkEndpoint !== undefined && { networkEndpoint }),
  };
}

function fromCloud(cloud: Json, config: ZunAuthConfig): ZunAuthConfig {
  const auth = isJsonObject(cloud["auth"]) ? cloud["auth"] : {};
  const of = (source: Json, ...keys: readonly string[]): string | undefined =>
    keys.map((key) => source[key]).find((value): value is string => typeof value === "string" && value !== "");
  const verify = cloud["verify"];
  return {
    authUrl: of(auth, "auth_url"),
    username: of(auth, "username", "user_name"),
    userId: of(auth, "user_id"),
    password: of(auth, "password"),
    projectName: of(auth, "project_name", "tenant_name"),
    projectId: of(auth, "project_id", "tenant_id"),
    domainName: of(auth, "domain_name", "default_domain_name"),
    domainId: of(auth, "domain_id", "default_domain_id", "default_domain"),
    userDomainName: of(auth, "user_domain_name"),
    userDomainId: of(auth, "user_domain_id"),
    projectDomainName: of(auth, "project_domain_name"),
    projectDomainId: of(auth, "project_domain_id"),
    applicationCredentialId: of(auth, "application_credential_id"),
    applicationCredentialName: of(auth, "application_credential_name"),
    applicationCredentialSecret: of(auth, "application_credential_secret"),
    token: of(auth, "token"),
    region: config.region ?? of(cloud, "region_name"),
    interface: config.interface ?? of(cloud, "interface", "endpoint_type"),
    caCert: config.caCert ?? of(cloud, "cacert"),
    cert: config.cert ?? of(cloud, "cert"),
    key: config.key ?? of(cloud, "key"),
    insecure: config.insecure ?? (verify === false || verify === "false"),
    containerEndpoint: of(cloud, "container_endpoint_override"),
    networkEndpoint: of(cloud, "network_endpoint_override"),
  };
}

function readClouds(path: string): Json {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT" && path.includes("secure")) return {};
    throw new InvalidInputError(`read ${path}: ${messageOf(error)}`, { cause: error });
  }
  let document: unknown;
  try {
    document = extname(path) === ".json" ? JSON.parse(text) : parse(text);
  } catch {
    // The parser's message quotes the file, which contains passwords.
    throw new InvalidInputError(`read ${path}: it is no ${extname(path) === ".json" ? "JSON" : "YAML"}`);
  }
  const clouds = isJsonObject(document) ? document["clouds"] : undefined;
  return isJsonObject(clouds) ? clouds : {};
}

function merge(under: Json, over: Json): Json {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isJsonObject(before) && isJsonObject(value) ? merge(before, value) : value;
  }
  return merged;
}
