import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isExecutable } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { shellProgram } from "../e2e/kubernetes/stand-in-images.ts";
import { buildBeside } from "./build-beside.ts";
import { findGo, GoModule, type Environment } from "./go-module.ts";

const module = new GoModule("kubernetes-e2e");

/** Main packages, and the programs they are built to. */
const programs = {
  agnhost: "k8s.io/kubernetes/test/images/agnhost",
  nonewprivs: "k8s.io/kubernetes/test/images/nonewprivs",
  ginkgo: "github.com/onsi/ginkgo/v2/ginkgo",
} as const;
const testProgram = "e2e.test";

/** Why the tests are not available, and what they need; `undefined` if they are. */
export function missingKubernetesE2e(environment: Environment = process.env): string | undefined {
  if (!existsSync(shellProgram)) return `there is no ${shellProgram}, for the tests' images: apt-get install bash-static`;
  if (isBuilt(environment["KUBERNETES_E2E"] || module.builtFolder(environment)) || findGo(environment) !== undefined) return undefined;
  return `${noGo}; install it, or set KUBERNETES_E2E to a folder with built ones`;
}

const noGo = "there is no Go on the PATH to build Kubernetes' end-to-end tests with (https://go.dev/dl, 1.26 or newer)";

function isBuilt(directory: string): boolean {
  return [testProgram, ...Object.keys(programs)].every((name) => isExecutable(join(directory, name)));
}

/** Kubernetes' own end-to-end tests, and what they run: a folder with `e2e.test`, `ginkgo`, `agnhost` and `nonewprivs`. */
export interface KubernetesE2e {
  readonly directory: string;
  /** Such as `v1.36.3`. */
  readonly version: string;
}

/**
 * The programs, built first where need be, which takes five to ten minutes once; `KUBERNETES_E2E` may name a folder with built ones.
 *
 * @throws Error if they cannot be built, with Go's words
 */
export async function ensureKubernetesE2e(environment: Environment = process.env): Promise<KubernetesE2e> {
  const version = /^require k8s\.io\/kubernetes (\S+)$/m.exec(readFileSync(join(module.folder, "go.mod"), "utf8"))?.[1] ?? "";
  const directory = environment["KUBERNETES_E2E"] || module.builtFolder(environment);
  if (isBuilt(directory)) return { directory, version };
  const go = findGo(environment);
  if (go === undefined) throw new Error(noGo);
  console.error(`Kubernetes' end-to-end tests are built once with ${go} into ${directory}: five to ten minutes`);
  await buildBeside(directory, async (output) => {
    const flags = ["-trimpath", "-ldflags", `-s -w -X k8s.io/component-base/version.gitVersion=${version}`];
    // Static: the images they go into have no libraries.
    const env = { CGO_ENABLED: "0" };
    await module.build(go, ["test", "-c", ...flags, "-o", join(output, testProgram), "k8s.io/kubernetes/test/e2e"], env);
    for (const [name, main] of Object.entries(programs)) await module.build(go, ["build", ...flags, "-o", join(output, name), main], env);
  });
  return { directory, version };
}
