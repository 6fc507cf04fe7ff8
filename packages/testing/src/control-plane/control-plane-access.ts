import { openCertificateAuthority } from "@virtual-kubelet/pki";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ApiServerTarget } from "./api-request.ts";
import { controlPlaneFiles } from "./component-flags.ts";
import { kubeconfigText, type ClientCredentials } from "./kubeconfig.ts";
import { runKubectl, type KubectlOptions, type KubectlResult } from "./kubectl.ts";

/** A kubeconfig, as a file and as text. */
export interface KubeconfigFile {
  /** Absolute path. */
  readonly path: string;
  readonly text: string;
}

/** Access to a control plane from any process on the machine. */
export interface ControlPlaneAccess {
  /** Folder with its files, for {@link openControlPlane}. */
  readonly directory: string;
  /** Such as `https://127.0.0.1:6443`. */
  readonly server: string;
  /** PEM of the authority that signs servers and clients. */
  readonly caCertificate: string;
  /** Version of the API server, such as `v1.36.3`. */
  readonly version: string;
  /** Kubeconfig of the administrator (group `system:masters`). */
  readonly kubeconfig: KubeconfigFile;
  /** The administrator's credentials, for clients without a kubeconfig. */
  readonly target: ApiServerTarget;
  /** A kubeconfig with a client certificate for this user and these groups. They have no rights until RBAC grants some. */
  kubeconfigFor(user: string, groups?: readonly string[]): KubeconfigFile;
  /** A kubeconfig with other credentials, such as a service account's token or a token file. */
  kubeconfigWith(credentials: ClientCredentials): KubeconfigFile;
  /** Runs kubectl as the administrator. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>;
  /** Lines of the audit log so far; empty if it is off. */
  auditEvents(): AuditEvent[];
}

/** Fields of an audit event (`audit.k8s.io/v1`) that tests read. */
export interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: unknown;
}

/** Contents of `control-plane.json`, which is written when the API server answers. */
export interface ControlPlaneDescription {
  readonly server: string;
  readonly version: string;
  /** Folder of the programs. */
  readonly programs: string;
}

/** Returns access to a control plane that another process started in this folder. */
export function openControlPlane(directory: string): ControlPlaneAccess {
  const files = controlPlaneFiles(directory);
  const description = JSON.parse(readFileSync(join(directory, "control-plane.json"), "utf8")) as ControlPlaneDescription;
  const authority = openCertificateAuthority(readPair(files.pki, "ca"));
  const { server } = description;
  const target: ApiServerTarget = { server, caCertificate: authority.certificate, credentials: readPair(files.pki, "admin") };
  const kubeconfig = readKubeconfig(join(files.kubeconfigs, "admin.json"));

  return {
    directory,
    server,
    caCertificate: authority.certificate,
    version: description.version,
    kubeconfig,
    target,
    kubeconfigFor: (user, groups = []) =>
      kubeconfigWith(authority.issue({ commonName: user, organizations: groups, usages: ["client auth"] })),
    kubeconfigWith,
    kubectl: (args, options) =>
      runKubectl(
        { program: join(description.programs, "kubectl"), kubeconfig: kubeconfig.path, cacheDirectory: join(directory, "kubectl-cache") },
        args,
        options,
      ),
    auditEvents: () => readAuditLog(files.auditLog),
  };

  function kubeconfigWith(credentials: ClientCredentials): KubeconfigFile {
    const path = join(files.kubeconfigs, `${randomBytes(6).toString("hex")}.json`);
    return writeKubeconfig(path, kubeconfigText({ server, caCertificate: authority.certificate, credentials }));
  }
}

/** Writes a kubeconfig that only its owner can read. */
export function writeKubeconfig(path: string, text: string): KubeconfigFile {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
  return { path, text };
}

function readKubeconfig(path: string): KubeconfigFile {
  return { path, text: readFileSync(path, "utf8") };
}

function readPair(directory: string, name: string): { readonly certificate: string; readonly key: string } {
  return { certificate: readFileSync(join(directory, `${name}.crt`), "utf8"), key: readFileSync(join(directory, `${name}.key`), "utf8") };
}

function readAuditLog(file: string): AuditEvent[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  // The last line may be incomplete.
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as AuditEvent);
}
