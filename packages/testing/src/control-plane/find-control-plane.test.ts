import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ensureControlPlane } from "./build-control-plane.ts";
import { defaultPrograms, findControlPlane } from "./find-control-plane.ts";

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "vk-find-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

test("KUBEBUILDER_ASSETS is taken when all programs are in it", async () => {
  const assets = await programs("assets", defaultPrograms);

  expect(findControlPlane({ environment: { KUBEBUILDER_ASSETS: assets } })).toEqual({
    status: "found",
    directory: assets,
    how: `KUBEBUILDER_ASSETS=${assets}`,
  });
});

test("KUBEBUILDER_ASSETS as envtest fills it is enough where no controllers are asked for, and else is said to lack them", async () => {
  const assets = await programs("assets", ["etcd", "kube-apiserver", "kubectl"]);
  const environment = { KUBEBUILDER_ASSETS: assets, HOME: directory, PATH: directory };

  expect(findControlPlane({ environment, programs: ["etcd", "kube-apiserver", "kubectl"] }).status).toBe("found");
  expect(findControlPlane({ environment }).how).toContain("has no kube-controller-manager, kube-scheduler");
});

test("with Go and the repository they can be built, into a folder named after go.mod and go.sum", async () => {
  const moduleDirectory = await goModule();
  const go = join(await programs("bin", ["go"]), "go");
  const environment = { XDG_CACHE_HOME: join(directory, "cache"), PATH: join(directory, "bin") };

  const lookup = findControlPlane({ environment, moduleDirectory });

  expect(lookup).toMatchObject({ status: "buildable", source: { go, moduleDirectory, kubernetesVersion: "v1.36.3" } });
  if (lookup.status !== "buildable") return;
  expect(lookup.source.directory.startsWith(join(directory, "cache/virtual-kubelet/control-plane/"))).toBe(true);
});

test("what was built before is found, until the module changes", async () => {
  const moduleDirectory = await goModule();
  const environment = { XDG_CACHE_HOME: join(directory, "cache"), PATH: await programs("bin", ["go"]) };
  const lookup = findControlPlane({ environment, moduleDirectory });
  if (lookup.status !== "buildable") throw new Error(lookup.how);
  await programs(lookup.source.directory.slice(directory.length + 1), defaultPrograms);

  expect(findControlPlane({ environment, moduleDirectory })).toMatchObject({ status: "found", directory: lookup.source.directory });

  await writeFile(join(moduleDirectory, "go.sum"), "changed");
  expect(findControlPlane({ environment, moduleDirectory }).status).toBe("buildable");
});

test("without Go, or outside the repository, the lookup says what to do", async () => {
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

test("a build ends with the programs in the cache, under the names Kubernetes gives them", async () => {
  const moduleDirectory = await goModule();
  const bin = await programs("bin", []);
  // Stands in for Go: `-o DIR/` gets a file for every package, named as Go names it.
  const script =
    '#!/bin/sh\nout=$3; shift 5\nfor p; do case $p in */server/v3) n=server ;; *) n=${p##*/} ;; esac; : > "$out$n"; chmod 755 "$out$n"; done\n';
  await writeFile(join(bin, "go"), script, { mode: 0o755 });
  const environment = { XDG_CACHE_HOME: join(directory, "cache"), PATH: bin };
  const builds: string[] = [];

  const built = await ensureControlPlane({ environment, moduleDirectory, onBuild: (how) => builds.push(how) });

  expect(builds).toHaveLength(1);
  expect(findControlPlane({ environment, moduleDirectory, programs: [...defaultPrograms, "kwok"] })).toMatchObject({
    status: "found",
    directory: built,
  });
});

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
