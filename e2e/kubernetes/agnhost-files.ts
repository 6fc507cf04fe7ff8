import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { busyboxFileSystem, type ImageFile } from "../docker/support/busybox-image.ts";

/**
 * Files of Kubernetes' agnhost image that tests of a node use, apart from its program: a certificate for its HTTPS servers, which no
 * client verifies, and an image that its registry serves.
 * Source: test/images/agnhost/Dockerfile of kubernetes v1.36.3.
 *
 * @param command - entry point of the image in the registry, as JSON
 */
export async function agnhostFiles(programs: string, command: readonly string[]): Promise<readonly ImageFile[]> {
  const program = readFileSync(join(programs, "agnhost"));
  const authority = createCertificateAuthority("agnhost");
  const { certificate, key } = authority.issue({ commonName: "localhost", names: ["localhost"], usages: ["server auth"] });
  return [
    { name: "agnhost", mode: 0o755, content: program },
    { name: "agnhost-2", mode: 0o755, content: program },
    { name: "localhost.crt", mode: 0o644, content: certificate },
    { name: "localhost.key", mode: 0o644, content: key },
    ...(await registryFiles("pause", "testing", command)),
  ];
}

/** A Busybox image at the path that agnhost's registry reads. Source: test/images/agnhost/fakeregistryserver. */
async function registryFiles(image: string, tag: string, command: readonly string[]): Promise<readonly ImageFile[]> {
  const layer = await busyboxFileSystem();
  const packed = blob(gzipSync(layer), "application/vnd.docker.image.rootfs.diff.tar.gzip");
  const config = blob(
    JSON.stringify({
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: { Entrypoint: command },
      rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
    }),
    "application/vnd.docker.container.image.v1+json",
  );
  const mediaType = "application/vnd.docker.distribution.manifest.v2+json";
  const manifest = blob(JSON.stringify({ schemaVersion: 2, mediaType, config: config.descriptor, layers: [packed.descriptor] }), mediaType);
  const file = (folder: string, { descriptor: { digest }, content }: Blob): ImageFile => {
    const hash = digest.slice("sha256:".length);
    return { name: `var/registry/${image}/${folder}/sha256/${hash.slice(0, 2)}/${hash}/data`, mode: 0o644, content };
  };
  return [
    file("blobs", packed),
    file("blobs", config),
    file("manifests", manifest),
    { name: `var/registry/${image}/manifests/${tag}`, mode: 0o644, content: manifest.descriptor.digest },
  ];
}

interface Blob {
  readonly descriptor: { readonly mediaType: string; readonly digest: string; readonly size: number };
  readonly content: Buffer;
}

function blob(text: Buffer | string, mediaType: string): Blob {
  const content = Buffer.from(text);
  return { descriptor: { mediaType, digest: digestOf(content), size: content.length }, content };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
