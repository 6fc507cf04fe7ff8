import { type CertificateAuthority, createCertificateAuthority, generateKey, type KeyPair } from "@virtual-kubelet/pki";
import { createPublicKey } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Keys that the launcher itself uses. */
export interface ControlPlanePki {
  readonly authority: CertificateAuthority;
  readonly admin: KeyPair;
  readonly controllerManager: KeyPair;
  readonly scheduler: KeyPair;
}

/** Writes all certificates and keys of a control plane into a folder, under the names that the flags expect. */
export function writePki(directory: string): ControlPlanePki {
  mkdirSync(directory, { recursive: true });
  const authority = createCertificateAuthority("kubernetes");
  const frontProxy = createCertificateAuthority("front-proxy-ca");
  const client = (commonName: string, ...organizations: readonly string[]): KeyPair =>
    authority.issue({ commonName, organizations, usages: ["client auth"] });
  const admin = client("kubernetes-admin", "system:masters");

  write("ca", authority);
  write("front-proxy-ca", frontProxy);
  write("admin", admin);
  write(
    "kube-apiserver",
    authority.issue({
      commonName: "kube-apiserver",
      usages: ["server auth"],
      names: [
        "127.0.0.1",
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "10.96.0.1",
      ],
    }),
  );
  write("kubelet-client", client("kube-apiserver-kubelet-client", "system:masters"));
  write("front-proxy-client", frontProxy.issue({ commonName: "front-proxy-client", usages: ["client auth"] }));
  writeServiceAccountKeys();
  return { authority, admin, controllerManager: client("system:kube-controller-manager"), scheduler: client("system:kube-scheduler") };

  function write(name: string, pair: KeyPair): void {
    writeFileSync(join(directory, `${name}.crt`), pair.certificate);
    writeFileSync(join(directory, `${name}.key`), pair.key, { mode: 0o600 });
  }

  function writeServiceAccountKeys(): void {
    const key = generateKey();
    writeFileSync(join(directory, "service-account.key"), key, { mode: 0o600 });
    writeFileSync(join(directory, "service-account.pub"), createPublicKey(key).export({ type: "spki", format: "pem" }));
  }
}
