import { join } from "node:path";
import type { AuthorizationMode } from "../../authorization/authorizer.ts";
import { FlagError, lastOf, listOf, type Flags } from "./flags.ts";

/** What the flags of kube-apiserver mean to the embedded API server. */
export interface KubeApiserverSettings {
  readonly host: string;
  readonly port: number;
  /** Paths of the serving certificate and its key. They exist if `isRequired`; otherwise the server issues a certificate if they do not. */
  readonly serving: { readonly certificate: string; readonly key: string; readonly isRequired: boolean };
  readonly clientCaFile?: string;
  readonly authorization: AuthorizationMode;
  readonly serviceAccounts: boolean;
  readonly serviceClusterIpRange: string;
  /** Flags that are set and have no effect. */
  readonly ignored: readonly string[];
}

/** Flags with an effect. */
const effective: ReadonlySet<string> = new Set([
  "authorization-mode",
  "bind-address",
  "cert-dir",
  "client-ca-file",
  "disable-admission-plugins",
  "secure-port",
  "service-cluster-ip-range",
  "tls-cert-file",
  "tls-private-key-file",
]);

/** Flags that this server does not need: it has their effect without them, or nothing that they describe. */
const needless: ReadonlySet<string> = new Set([
  "advertise-address",
  "allow-privileged",
  "enable-admission-plugins",
  "etcd-servers",
  "insecure-port",
  "service-account-issuer",
  "service-account-key-file",
  "service-account-signing-key-file",
  "v",
]);

/**
 * Reads the flags of kube-apiserver. Defaults are those of kube-apiserver, except that the address is a loopback.
 *
 * Source: pkg/controlplane/apiserver/options and k8s.io/apiserver pkg/server/options/serving.go of Kubernetes v1.36.3.
 *
 * @throws FlagError
 */
export function toSettings(flags: Flags): KubeApiserverSettings {
  const port = lastOf(flags, "secure-port") ?? "6443";
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new FlagError(`invalid argument ${JSON.stringify(port)} for "--secure-port" flag: expected a port from 0 to 65535`);
  const directory = lastOf(flags, "cert-dir") ?? "/var/run/kubernetes";
  const certificate = lastOf(flags, "tls-cert-file");
  const clientCaFile = lastOf(flags, "client-ca-file");
  return {
    host: lastOf(flags, "bind-address") ?? "127.0.0.1",
    port: Number(port),
    serving: {
      certificate: certificate ?? join(directory, "apiserver.crt"),
      key: lastOf(flags, "tls-private-key-file") ?? join(directory, "apiserver.key"),
      isRequired: certificate !== undefined,
    },
    ...(clientCaFile === undefined ? {} : { clientCaFile }),
    authorization: authorizationOf(listOf(flags, "authorization-mode")),
    serviceAccounts: !listOf(flags, "disable-admission-plugins").includes("ServiceAccount"),
    // A second range is of IPv6, which the server does not have.
    serviceClusterIpRange: listOf(flags, "service-cluster-ip-range")[0] ?? "10.0.0.0/24",
    ignored: [...flags.keys()].filter((name) => !effective.has(name) && !needless.has(name)),
  };
}

/** As there, the default is AlwaysAllow. Of several modes, that of roles decides. */
function authorizationOf(modes: readonly string[]): AuthorizationMode {
  const unknown = modes.find((mode) => !["AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"].includes(mode));
  if (unknown !== undefined) throw new FlagError(`authorization-mode ${JSON.stringify(unknown)} is not a valid mode`);
  return modes.length === 0 || (modes.includes("AlwaysAllow") && !modes.includes("RBAC")) ? "AlwaysAllow" : "RBAC";
}
