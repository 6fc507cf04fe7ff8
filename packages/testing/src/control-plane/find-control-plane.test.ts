import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidInputError, isTerminal, isUnavailable } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ensureControlPlane } from "./build-control-plane.ts";
import { defaultPrograms, findControlPlane } from "./find-control-plane.ts";
import { requireChosenKubernetes } from "./kubernetes-version.ts";

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "vk-find-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

test("KUBEBUILDER_ASSETS is used when it has all programs", async () => {
  const assets = await programs("assets", defaultPrograms);

  expect(findControlPlane({ environment: { KUBEBUILDER_ASSETS: assets } })).toEqual({
    status: "found",
    directory: assets,
    how: `KUBEBUILDER_ASSETS=${assets}`,
  });
});

test("KUBEBUILDER_ASSETS as envtest fills it is sufficient without controllers; otherwise the missing ones are named", async () => {
  const assets = await programs("assets", ["etcd", "kube-apiserver", "kubectl"]);
  const environment = { KUBEBUILDER_ASSETS: assets, HOME: directory, PATH: directory };

  expect(findControlPlane({ environment, programs: ["etcd", "kube-apiserver", "kubectl"] }).status).toBe("found");
  expect(findControlPlane({ environment }).how).toContain("has no kube-controller-manager, kube-scheduler");
  expect(findControlPlane({ environment, programs: ["kube-proxy"] }).how).toContain("has no kube-proxy");
});

test("with Go and the repository the programs can be built, in a folder named after go.mod and go.sum", async () => {
  const moduleDirectory = await goModule();
  const go = join(await programs("bin", ["go"]), "go");
  const environment = { XDG_CACHE_HOME: join(directory, "cache"), PATH: join(directory, "bin") };

  const lookup = findControlPlane({ environment, moduleDirectory });

  expect(lookup).toMatchObject({ status: "buildable", source: { go, moduleDirectory, kubernetesVersion: "v1.36.3" } });
  if (lookup.status !== "buildable") return;
  expect(lookup.source.directory.startsWith(join(directory, "cache/virtual-kubelet/control-plane/"))).toBe(true);
});

test("programs from an earlier build are found until the module changes", async () => {
  const moduleDirectory = await goModule();
  const environment = { XDG_CACHE_HOME: join(directory, "cache"), PATH: await programs("bin", ["go"]) };
  const lookup = findControlPlane({ environment, moduleDirectory });
  if (lookup.status !== "buildable") throw new Error(lookup.how);
  await programs(lookup.source.directory.slice(directory.length + 1), defaultPrograms);

  expect(findControlPlane({ environment, moduleDirectory })).toMatchObject({ status: "found", directory: lookup.source.directory });

  await writeFile(join(moduleDirectory, "main.go"), "package main");
  expect(findControlPlane({ environment, moduleDirectory }).status).toBe("buildable");
  await rm(join(moduleDirectory, "main.go"));
  expect(findControlPlane({ environment, moduleDirectory }).status).toBe("found");
  await writeFile(join(moduleDirectory, "go.sum"), "changed");
  expect(findControlPlane({ environment, moduleDirectory }).status).toBe("buildable");
});

test("without Go or outside the repository, the lookup names the remedy", async () => {
  const environment = { PATH: directory, HOME: directory };

  const withoutGo = findControlPlane({ environment, moduleDirectory: await goModule() });
  const outside = findControlPlane({ environment, moduleDirectory: join(directory, "nowhere") });

  expect(withoutGo).toMatchObject({ status: "missing", how: expect.stringContaining("https://go.dev/dl") });
  expect(outside).toMatchObject({
    status: "missing",
    how: expect.stringContaining("set KUBEBUILDER_ASSETS to a folder that holds etcd, kube-apiserver"),
  });
  await expect(ensureControlPlane({ environment, moduleDirectory: join(directory, "nowhere") })).rejects.toSatisfy(isUnavailable);
});

test("KUBERNETES selects the version to build, and each version has its own folder", async () => {
  const environment = { XDG_CACHE_HOME: join(directory, "cache"), PATH: await programs("bin", ["go"]) };

  const lookups = ["1.34", "1.35", "1.36"].map((version) => findControlPlane({ environment: { ...environment, KUBERNETES: version } }));

  const sources = lookups.map((lookup) => (lookup.status === "buildable" ? lookup.source : undefined));
  expect(sources.map((source) => source?.kubernetesVersion)).toEqual(["1.34", "1.35", "1.36"].map(patchOf));
  expect(new Set(sources.map((source) => source?.directory)).size).toBe(3);
});

test("the newest version is built if KUBERNETES is unset or empty", async () => {
  const environment = { XDG_CACHE_HOME: join(directory, "cache"), PATH: await programs("bin", ["go"]) };

  expect(findControlPlane({ environment })).toMatchObject({ source: { kubernetesVersion: patchOf("1.36") } });
  expect(findControlPlane({ environment: { ...environment, KUBERNETES: "" } })).toEqual(findControlPlane({ environment }));
});

test.for(["1.33", "v1.35", "1.36.3", "latest"])("KUBERNETES=%s is refused, and the error lists the available versions", (version) => {
  const lookUp = (): unknown => findControlPlane({ environment: { KUBERNETES: version, PATH: directory, HOME: directory } });

  expect(lookUp).toThrow(
    `KUBERNETES=${version}: expected 1.34, 1.35 or 1.36, which tools/control-plane has Go modules for; set one of these, or unset it for 1.36`,
  );
  expect(lookUp).toThrow(InvalidInputError);
});

test("a kube-apiserver whose version differs from KUBERNETES is refused", () => {
  expect(() => requireChosenKubernetes("v1.35.4", "/assets", { KUBERNETES: "1.35" })).not.toThrow();
  expect(() => requireChosenKubernetes("v1.36.3", "/assets", {})).not.toThrow();
  expect(() => requireChosenKubernetes("v1.36.3", "/assets", { KUBERNETES: "1.34" })).toThrow(
    "KUBERNETES=1.34, but kube-apiserver in /assets is v1.36.3: set KUBERNETES to its version, or unset KUBEBUILDER_ASSETS",
  );
  expect(() => requireChosenKubernetes("v1.35.4", "/assets", {})).toThrow("KUBERNETES is not set, which means 1.36, but kube-apiserver");
});

test("a build puts the programs into the cache under their Kubernetes names", async () => {
  const { environment, moduleDirectory } = await buildable();
  const builds: string[] = [];

  const built = await ensureControlPlane({ environment, moduleDirectory, onBuild: (how) => builds.push(how) });

  expect(builds).toHaveLength(1);
  expect(findControlPlane({ environment, moduleDirectory })).toMatchObject({ status: "found", directory: built });
});

test("only requested programs are built, and later only those that are missing", async () => {
  const { environment, moduleDirectory, packages } = await buildable();

  const directories = [
    await ensureControlPlane({ environment, moduleDirectory, programs: ["kubectl"] }),
    await ensureControlPlane({ environment, moduleDirectory, programs: ["kubectl"] }),
    await ensureControlPlane({ environment, moduleDirectory, programs: ["etcd", "kube-apiserver", "kubectl"] }),
  ];

  expect(new Set(directories).size).toBe(1);
  expect(await packages()).toEqual(["k8s.io/kubernetes/cmd/kubectl", "go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/kube-apiserver"]);
});

test("a build that fails leaves nothing behind", async () => {
  const { environment, moduleDirectory, cache } = await buildable();
  await writeFile(join(environment.PATH, "go"), '#!/bin/sh\n: > "$3"kubectl\nexit 1\n', { mode: 0o755 });

  await expect(ensureControlPlane({ environment, moduleDirectory, programs: ["kubectl"] })).rejects.toSatisfy(isTerminal);

  expect((await readdir(cache, { recursive: true })).filter((file) => file.endsWith("kubectl") || file.includes("building"))).toEqual([]);
});

/** A Go module and a fake `go`, which writes the same files to `-o DIR/` as Go would and records the packages. */
async function buildable() {
  const moduleDirectory = await goModule();
  const bin = await programs("bin", []);
  const notes = join(directory, "builds");
  const script = `#!/bin/sh
out=$3; shift 5; echo "$*" >> ${notes}
for p; do case $p in */server/v3) n=server ;; *) n=\${p##*/} ;; esac; : > "$out$n"; chmod 755 "$out$n"; done
`;
  await writeFile(join(bin, "go"), script, { mode: 0o755 });
  const cache = join(directory, "cache");
  return {
    moduleDirectory,
    cache,
    environment: { XDG_CACHE_HOME: cache, PATH: bin },
    /** Packages of each build so far. */
    packages: async () => (await readFile(notes, "utf8")).trimEnd().split("\n"),
  };
}

/** Version that the repository's module for a minor version requires. */
function patchOf(minor: string): string | undefined {
  const module = join(import.meta.dirname, "../../../../tools/control-plane", minor, "go.mod");
  return /^\tk8s\.io\/kubernetes (v\S+)/m.exec(readFileSync(module, "utf8"))?.[1];
}

async function programs(name: string, names: readonly string[]): Promise<string> {
  const folder = join(directory, name);
  await mkdir(folder, { recursive: true });
  for (const program of names) await writeFile(join(folder, program), "", { mode: 0o755 });
  return folder;
}

async function goModule(): Promise<string> {
  const folder = join(directory, "module");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "go.mod"), "module control-plane\n\nrequire k8s.io/kubernetes v1.36.3\n");
  await writeFile(join(folder, "go.sum"), "");
  return folder;
}
