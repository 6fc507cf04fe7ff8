import type { Clock } from "@virtual-kubelet/clock";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCertificateAuthority, type CertificateAndKey, type CertificateAuthority } from "../certificates/certificate-authority.ts";

/** Keys that the launcher itself uses. */
export interface ControlPlanePki {
  readonly authority: CertificateAuthority;
  readonly admin: CertificateAndKey;
  readonly controllerManager: CertificateAndKey;
  readonly scheduler: CertificateAndKey;
}

/** Writes all certificates and keys of a control plane into a folder, under the names that the flags expect. */
export function writePki(directory: string, clock: Clock): ControlPlanePki {
  mkdirSync(directory, { recursive: true });
  const authority = createCertificateAuthority("kubernetes", clock);
  const frontProxy = createCertificateAuthority("front-proxy-ca", clock);
  const client = (commonName: string, ...organizations: readonly string[]): CertificateAndKey =>
    authority.issue({ commonName, organizations, usages: ["client"] });
  const admin = client("kubernetes-admin", "system:masters");

  write("ca", authority);
  write("front-proxy-ca", frontProxy);
  write("admin", admin);
  write(
    "kube-apiserver",
    authority.issue({
      commonName: "kube-apiserver",
      usages: ["server"],
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
  write("front-proxy-client", frontProxy.issue({ commonName: "front-proxy-client", usages: ["client"] }));
  writeServiceAccountKeys();
  return { authority, admin, controllerManager: client("system:kube-controller-manager"), scheduler: client("system:kube-scheduler") };

  function write(name: string, pair: CertificateAndKey): void {
    writeFileSync(join(directory, `${name}.crt`), pair.certificate);
    writeFileSync(join(directory, `${name}.key`), pair.key, { mode: 0o600 });
  }

  function writeServiceAccountKeys(): void {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    writeFileSync(join(directory, "service-account.key"), privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    writeFileSync(join(directory, "service-account.pub"), createPublicKey(privateKey).export({ type: "spki", format: "pem" }));
  }
}
