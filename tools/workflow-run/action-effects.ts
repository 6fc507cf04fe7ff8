import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { cacheDirectory, moduleHash } from "../../packages/testing/src/control-plane/find-control-plane.ts";
import type { NpmRegistry } from "../npm-registry.ts";
import { runnerUser, type RunnerMachine } from "./runner-machine.ts";
import { root } from "../workspace.ts";
import type { Texts } from "./workflow-file.ts";

/** State that the service keeps between jobs; folders are paths on the machine. */
export interface Service {
  /** The repository that jobs check out: its branch main. */
  readonly origin: string;
  readonly artifacts: string;
  readonly registry: NpmRegistry;
}

/** A job that runs, as an action sees it. */
export interface ActionSurroundings {
  readonly machine: RunnerMachine;
  readonly service: Service;
  /** Folder of the checked-out repository, as a path on the machine. */
  readonly workspace: string;
  /** Folder for temporary files of the job, as a path on the machine. */
  readonly temp: string;
  /** Runs a command as a step does. @throws Error if it fails */
  run(command: readonly string[], options?: { readonly user?: "root" | "runner"; readonly env?: Texts }): Promise<string>;
  /** Puts a folder first in the search path of the steps that follow. */
  addPath(folder: string): void;
  /** Runs after the job's steps if all of them succeeded. */
  afterSuccess(work: () => Promise<void>): void;
}

/** Reproduces the effect of an external action on the job. @returns the action's outputs @throws Error if the action would fail */
export type ActionEffect = (inputs: Texts, job: ActionSurroundings) => Promise<Texts>;

/** The actions whose effect is known, by their name without the commit. */
export const actionEffects: Readonly<Record<string, ActionEffect>> = {
  "actions/checkout": checkOut,
  "actions/setup-node": setUpNode,
  "actions/cache": restoreCache,
  "actions/upload-artifact": uploadArtifact,
  "actions/download-artifact": downloadArtifact,
  "changesets/action/select-mode": selectMode,
  "changesets/action/version": versionPackages,
  "changesets/action/pack": packPackages,
  "changesets/action/publish": publishPackages,
};

/** @throws Error if the action has an input that this reproduction ignores */
function onlyInputs(inputs: Texts, known: readonly string[]): void {
  const other = Object.keys(inputs).find((name) => !known.includes(name));
  if (other !== undefined) throw new Error(`the input ${other} is not heeded here; known are ${known.join(", ") || "none"}`);
}

async function checkOut(inputs: Texts, { service, workspace, run }: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, ["persist-credentials"]);
  await run(["git", "clone", "--quiet", "--depth=1", "--branch=main", `file://${service.origin}`, workspace]);
  return {};
}

/** Gives the job the workspace's own Node.js, with this machine's npm. */
async function setUpNode(inputs: Texts, { machine, run, addPath }: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, ["node-version", "package-manager-cache"]);
  const program = realpathSync(join(root, "node_modules/.bin/node"));
  const version = execFileSync(program, ["--version"], { encoding: "utf8" }).trim().slice(1);
  const wanted = inputs["node-version"] ?? "";
  if (!`${version}.`.startsWith(`${wanted}.`)) throw new Error(`Node.js ${wanted} is wanted, and the workspace has ${version}`);
  const copy = `/home/node-${version}`;
  copyFileSync(program, machine.outside(copy));
  chmodSync(machine.outside(copy), 0o755);
  const folder = `/opt/hostedtoolcache/node/${version}/x64/bin`;
  const script = `mkdir -p ${folder}; cp ${copy} ${folder}/node; for name in npm npx; do ln -s "$(realpath "$(command -v $name)")" ${folder}/$name; done`;
  await run(["sh", "-ec", script]);
  addPath(folder);
  return {};
}

/**
 * Restores the cache entry of the key, or saves it after the job if there was none. An entry has the folders of all lines of
 * `path`. Go programs that this machine has already built count as cached, so they are not built again.
 */
async function restoreCache(inputs: Texts, { machine, afterSuccess }: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, ["path", "key"]);
  const { path = "", key = "" } = inputs;
  const home = machine.outside(runnerUser.home);
  const places = path
    .trim()
    .split("\n")
    .map((line) => placeInHome(line, home));
  const entry = join(cacheDirectory("workflows", process.env), key.replaceAll(/[^\w.-]/g, "_"));
  const hit = existsSync(entry);
  const built = builtPrograms()
    .map((folder) => ({ folder, copy: join(home, ".cache/virtual-kubelet", basename(dirname(folder)), basename(folder)) }))
    .filter(({ copy }) => places.some((place) => `${copy}/`.startsWith(`${place}/`)));
  if (hit) for (const place of places) restoreFolder(join(entry, relative(home, place)), place);
  for (const { folder, copy } of built) copyFolder(folder, copy);
  execFileSync("chown", ["--recursive", "--no-dereference", `${runnerUser.id}:${runnerUser.id}`, join(home, ".cache")]);
  if (!hit)
    afterSuccess(async () => {
      for (const { copy } of built) rmSync(copy, { recursive: true });
      const filled = places.filter((place) => globSync("*/*", { cwd: place }).length > 0);
      if (filled.length === 0) return;
      const saving = `${entry}.saving`;
      rmSync(saving, { recursive: true, force: true });
      for (const place of filled) copyFolder(place, join(saving, relative(home, place)));
      renameSync(saving, entry);
    });
  return { "cache-hit": String(hit) };
}

function placeInHome(path: string, home: string): string {
  const trimmed = path.trim();
  if (!trimmed.startsWith("~/")) throw new Error(`the path is ${JSON.stringify(trimmed)}; expected one below ~/`);
  return join(home, trimmed.slice(2));
}

/** Keeps a folder for later jobs. As the service does, it leaves out files whose names begin with a dot. */
async function uploadArtifact(inputs: Texts, { service, workspace, run }: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, ["name", "path"]);
  const { name = "artifact", path = "" } = inputs;
  const script = 'test -d "$1" && mkdir "$2" && cd "$1" && tar --create --exclude="./.*" . | tar --extract --directory "$2"';
  await run(["sh", "-ec", script, "sh", join(workspace, path), join(service.artifacts, name)]);
  return {};
}

/** Brings what {@link uploadArtifact} kept. */
async function downloadArtifact(inputs: Texts, { service, workspace, run }: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, ["name", "path"]);
  const { name = "artifact", path = "." } = inputs;
  await run(["sh", "-ec", 'mkdir -p "$2" && cp -R "$1/." "$2"', "sh", join(service.artifacts, name), join(workspace, path)]);
  return {};
}

/** Folders with the Go programs that were built of the modules as they are now. */
function builtPrograms(): readonly string[] {
  const hashes = new Set(globSync("tools/{*,*/*}/go.mod", { cwd: root }).map((file) => moduleHash(join(root, dirname(file)))));
  const cache = cacheDirectory("", process.env);
  return globSync("*/*", { cwd: cache })
    .filter((folder) => hashes.has(basename(folder)))
    .map((folder) => join(cache, folder));
}

/** An entry lacks the folders that were empty or absent when it was saved. */
function restoreFolder(from: string, to: string): void {
  if (existsSync(from)) copyFolder(from, to);
}

function copyFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(dirname(to), { recursive: true });
  execFileSync("cp", ["--archive", "--reflink=auto", from, to]);
}

/** Decides as the action does: with changesets, versions are written; without any, packages missing in the registry are published. */
async function selectMode(inputs: Texts, job: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, []);
  const { machine, workspace, temp } = job;
  const changesets = globSync("*.md", { cwd: machine.outside(join(workspace, ".changeset")), exclude: ["README.md"] });
  const isReleasing = (name: string): boolean => {
    const [, releases = ""] = readFileSync(machine.outside(join(workspace, ".changeset", name)), "utf8").split(/^---$/m);
    return releases.trim() !== "";
  };
  if (changesets.length > 0) return { mode: changesets.some(isReleasing) ? "version" : "none" };
  const plan = join(temp, "publish-plan", "publish-plan.json");
  await runChangesets(["publish-plan", "--output", plan], job);
  return planned(machine.outside(plan)).length === 0
    ? { mode: "none" }
    : { mode: "publish", "publish-plan-artifact-id": await upload(dirname(plan), job) };
}

/** Versions the packages and merges the result, which the action only proposes as a pull request. */
async function versionPackages(inputs: Texts, job: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, ["script", "pr-title"]);
  const { script, "pr-title": title = "Version Packages" } = inputs;
  if (script === undefined) await runChangesets(["version"], job);
  else await job.run(script.split(" "));
  const git = (...args: string[]): Promise<string> =>
    job.run(["git", "-c", "user.name=runner", "-c", "user.email=runner@localhost", ...args]);
  await git("add", "--all");
  await git("commit", "--quiet", "--message", title);
  await git("push", "--quiet", "origin", "HEAD:main");
  return { "pr-number": "1" };
}

async function packPackages(inputs: Texts, job: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, ["publish-plan-artifact-id"]);
  const output = join(job.temp, "changeset-pack");
  const plan = join(download(inputs["publish-plan-artifact-id"], job), "publish-plan.json");
  await runChangesets(["pack", "--out-dir", output, "--from-publish-plan", plan], job);
  return { "pack-dir-artifact-id": await upload(output, job) };
}

/** Publishes to the registry on loopback. @throws Error if a planned package is missing there afterwards */
async function publishPackages(inputs: Texts, job: ActionSurroundings): Promise<Texts> {
  onlyInputs(inputs, ["pack-dir-artifact-id"]);
  const packed = download(inputs["pack-dir-artifact-id"], job);
  await job.run(["git", "config", "user.name", "runner"]);
  await job.run(["git", "config", "user.email", "runner@localhost"]);
  await runChangesets(["publish", "--from-pack-dir", packed], job);
  const tags = new Set((await job.run(["git", "tag"])).trim().split("\n"));
  const lost: string[] = [];
  for (const { name, version } of planned(job.machine.outside(join(packed, "publish-plan.json")))) {
    const published = await job.service.registry.versionsOf(name);
    const isThere = published.some((one) => one.version === version && one.size > 0);
    if (!isThere || !tags.has(`${name}@${version}`)) lost.push(`${name}@${version}`);
  }
  if (lost.length > 0) throw new Error(`neither published nor tagged: ${lost.join(", ")}`);
  return { published: "true" };
}

/** Packages of a publish plan. */
function planned(file: string): readonly { readonly kind: string; readonly name: string; readonly version: string }[] {
  const { plan } = JSON.parse(readFileSync(file, "utf8")) as { plan: { kind: string; name: string; version: string }[][] };
  return plan.flat().filter(({ kind }) => kind === "publish");
}

/** Runs the workspace's changesets as the action does, with the registry on loopback for what is published. */
async function runChangesets(args: readonly string[], job: ActionSurroundings): Promise<void> {
  const { machine, service, workspace, run } = job;
  const settings = machine.outside(join(runnerUser.home, ".npmrc"));
  writeFileSync(settings, service.registry.npmrc);
  try {
    await run(["node", join(workspace, "node_modules/@changesets/cli/bin.js"), ...args]);
  } finally {
    rmSync(settings);
  }
}

/** @returns the artifact's number */
async function upload(folder: string, { machine, service, run }: ActionSurroundings): Promise<string> {
  const id = String(globSync("*", { cwd: machine.outside(service.artifacts) }).length + 1);
  await run(["cp", "--recursive", folder, join(service.artifacts, id)]);
  return id;
}

/** @returns the artifact's path on the machine */
function download(id: string | undefined, { machine, service }: ActionSurroundings): string {
  const folder = join(service.artifacts, id ?? "");
  if (id === undefined || id === "" || !existsSync(machine.outside(folder))) throw new Error(`there is no artifact ${JSON.stringify(id)}`);
  return folder;
}
