import type { RegistryCredentials } from "@virtual-kubelet/core";

/** The header `X-Registry-Auth` for a registry: base64url with padding, because engines silently ignore credentials without it. */
export function registryAuthHeader(credentials: RegistryCredentials, registry: string): string {
  const text = JSON.stringify(fields(credentials, registry));
  return Buffer.from(text).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

function fields(credentials: RegistryCredentials, serveraddress: string): Record<string, string> {
  if ("username" in credentials) return { username: credentials.username, password: credentials.password, serveraddress };
  if ("identityToken" in credentials) return { identitytoken: credentials.identityToken, serveraddress };
  return { registrytoken: credentials.registryToken, serveraddress };
}
