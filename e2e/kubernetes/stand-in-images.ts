import { readFileSync } from "node:fs";
import { join } from "node:path";
import { busyboxFileSystem, importImage, type ImageFile } from "../docker/support/busybox-image.ts";
import { agnhostFiles } from "./agnhost-files.ts";
import { hostProgram } from "./host-program.ts";
import type { EngineApi } from "../docker/support/engine-api.ts";
import { serveStandIns } from "./stand-in-registry.ts";

/** Debian's bash-static, a shell that passes on variables whose names are invalid in a shell, as newer Busybox shells do. */
export const shellProgram = "/bin/bash-static";

/** An image that replaces one of Kubernetes' images, which cannot be pulled here. */
interface StandIn {
  /** Names and tags that the tests use. */
  readonly names: readonly string[];
  /** Programs in addition to Busybox, by their path in the image. */
  readonly programs?: Readonly<Record<string, { readonly program: string; readonly mode?: number }>>;
  /** Returns additional files. The argument is the folder of the programs. */
  readonly files?: (programs: string) => readonly ImageFile[] | Promise<readonly ImageFile[]>;
  readonly changes: readonly string[];
}

const registry = "registry.k8s.io/e2e-test-images";
const mark = `LABEL io.virtual-kubelet.stand-in="Busybox, and programs of Kubernetes' source"`;
const forever = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"];
const webServer = `["/bin/sh","-c","mkdir -p /www; trap 'exit 0' TERM QUIT; httpd -f -p 80 -h /www & wait $!"]`;

/**
 * Files of the image `kitten` that the test of image volumes reads: its data, and an os-release that names Alpine Linux. The
 * replacement is not Alpine Linux, and its os-release says so as well.
 */
const kittenFiles: readonly ImageFile[] = [
  { name: "data.json", mode: 0o644, content: '{"image": "kitten.jpg"}\n' },
  { name: "etc/os-release", mode: 0o644, content: 'NAME="Busybox, standing in for Alpine Linux"\nID=stand-in\n' },
];

/** Each image follows its Dockerfile in Kubernetes' `test/images`, as far as tests can observe. */
const standIns: readonly StandIn[] = [
  { names: [`${registry}/busybox:1.37.0-1`, `${registry}/busybox:1.36.1-1`], changes: ['CMD ["sh"]'] },
  {
    names: [`${registry}/agnhost:2.63.0`, `${registry}/agnhost:2.55`],
    files: (programs) => agnhostFiles(programs, forever),
    changes: ['ENTRYPOINT ["/agnhost"]', 'CMD ["pause"]', "EXPOSE 80 8080 8081 9376 5000"],
  },
  { names: [`${registry}/nginx:1.15-4`, `${registry}/nginx:1.27-0`], changes: [`CMD ${webServer}`, "EXPOSE 80"] },
  {
    names: [`${registry}/nonewprivs:1.4`],
    programs: { "usr/local/bin/nnp": { program: "nonewprivs", mode: 0o6755 } },
    changes: ['CMD ["nnp"]', "ENV PATH=/usr/local/bin:/bin"],
  },
  { names: [`${registry}/nonroot:1.5`], changes: ["USER 1234", 'CMD ["id"]'] },
  {
    names: [`${registry}/kitten:1.8`, `${registry}/nautilus:1.8`],
    programs: { agnhost: { program: "agnhost" } },
    files: () => kittenFiles,
    changes: ['ENTRYPOINT ["/agnhost"]', 'CMD ["test-webserver"]'],
  },
  // Its test checks how glibc looks up a name.
  { names: [`${registry}/glibc-dns-testing:2.0.0`], files: () => hostProgram("/usr/bin/hostname"), changes: ['CMD ["sh"]'] },
  { names: ["registry.k8s.io/pause:3.10.2"], changes: [`ENTRYPOINT ${JSON.stringify(forever)}`] },
];

/**
 * Imports all images that the tests use into the engine, and starts a registry to pull them from.
 *
 * @param programs - folder of the programs that `ensureKubernetesE2e` builds
 */
export async function importStandIns(engine: EngineApi, programs: string): Promise<void> {
  for (const { names, programs: wanted = {}, files: more, changes } of standIns) {
    const files = Object.entries(wanted).map(([name, { program, mode = 0o755 }]): ImageFile => ({
      name,
      mode,
      content: readFileSync(join(programs, program)),
    }));
    const bytes = await busyboxFileSystem([...files, ...((await more?.(programs)) ?? []), ...everywhere()]);
    for (const name of names) await importImage(engine, name, { bytes, changes: [...changes, mark] });
  }
  await serveStandIns(engine);
}

/**
 * Files that all images have in addition to Busybox: first on the PATH a shell that passes on variables with unusual names, while
 * `/bin/sh` is Busybox, whose messages tests expect; and a minimal curl that requests a URL.
 */
function everywhere(): readonly ImageFile[] {
  return [
    { name: "usr/bin/sh", mode: 0o755, content: readFileSync(shellProgram) },
    { name: "bin/bash", mode: 0o755, content: readFileSync(shellProgram) },
    { name: "usr/bin/curl", mode: 0o755, content: curl },
  ];
}

/** Uses nc, because Debian's static wget cannot resolve names in an image without other files. */
const curl = `#!/bin/busybox sh
seconds=30
while [ $# -gt 1 ]; do
  case "$1" in --connect-timeout | --max-time | -m) seconds=$2; shift ;; esac
  shift
done
rest=\${1#http://}
address=\${rest%%/*}
port=\${address##*:}
[ "$port" = "$address" ] && port=80
printf 'GET /%s HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n' "\${rest#*/}" "$address" | nc -w "$seconds" "\${address%:*}" "$port" | sed '1,/^\\r*$/d'
`;
