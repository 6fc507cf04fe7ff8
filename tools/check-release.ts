import { messageOf } from "@virtual-kubelet/errdefs";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runAsProgram, type CheckResult } from "./check.ts";
import { startNpmRegistry, type NpmRegistry } from "./npm-registry.ts";
import { releaseProblems } from "./release-rules.ts";
import { findPnpmProgram, mustRun, run, type RunOptions } from "./run.ts";
import { programName, scope } from "./scope.ts";
import { publishedPackages, root, type Manifest } from "./workspace.ts";

/** Limit of one step in milliseconds. */
const timeoutMs = 600_000;

/**
 * Releases the last commit to a registry on loopback, with the commands of the workflow `release.yml`, and then uses what was published as its
 * users do, from empty folders: the demo by npx, and a provider by npm create. Nothing leaves this machine but requests for packages of others.
 */
export async function checkRelease(say: (line: string) => void = console.log): Promise<CheckResult[]> {
  const changes = execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" }).trim();
  if (changes !== "") say(`what is not committed is not released:\n${changes}`);
  const folder = mkdtempSync(join(tmpdir(), "vk-release-"));
  const uplink = (await mustRun("npm", ["config", "get", "registry"])).trim();
  await using registry = await startNpmRegistry({ uplink });
  try {
    return await new ReleaseRehearsal(folder, registry, await findPnpmProgram()).run();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class ReleaseRehearsal {
  readonly #folder: string;
  readonly #copy: string;
  readonly #registry: NpmRegistry;
  readonly #settings: string;
  readonly #pnpmProgram: string;
  readonly #results: CheckResult[] = [];

  /** @param folder - an empty folder for everything that is written */
  constructor(folder: string, registry: NpmRegistry, pnpmProgram: string) {
    this.#folder = folder;
    this.#copy = join(folder, "repository");
    this.#registry = registry;
    this.#settings = join(folder, "npmrc");
    this.#pnpmProgram = pnpmProgram;
  }

  async run(): Promise<CheckResult[]> {
    writeFileSync(this.#settings, this.#registry.npmrc);
    const isPublished =
      (await this.#step("clone and install", () => this.#clone())) &&
      (await this.#step("versions and change logs", () => this.#version())) &&
      (await this.#step("build, pack and publish", () => this.#publish())) &&
      (await this.#step("every package is in the registry, at its new version, as latest", () => this.#missing()));
    if (!isPublished) return this.#results;
    await this.#step(`npx ${programName} demo, from an empty folder`, () => this.#runDemo());
    await this.#step(`npm create ${scope}/provider, from an empty folder`, () => this.#createProvider());
    return this.#results;
  }

  /** Records a step as a check. @param work - returns problems, or throws */
  async #step(name: string, work: () => Promise<readonly string[] | void>): Promise<boolean> {
    const problems = (await work().catch((error: unknown) => [messageOf(error)])) ?? [];
    this.#results.push({ name: `release: ${name}`, problems });
    return problems.length === 0;
  }

  async #clone(): Promise<void> {
    await mustRun("git", ["clone", "--quiet", `file://${root}`, this.#copy]);
    await mustRun("git", ["config", "user.name", "rehearsal"], { cwd: this.#copy });
    await mustRun("git", ["config", "user.email", "rehearsal@localhost"], { cwd: this.#copy });
    await this.#pnpm(["install", "--frozen-lockfile", "--prefer-offline", "--ignore-scripts"]);
  }

  async #version(): Promise<readonly string[]> {
    const before = new Map(publishedPackages(this.#copy).map(({ manifest }) => [manifest.name, manifest.version]));
    if (!hasReleasingChangeset(this.#copy)) this.#addChangeset();
    await this.#pnpm(["exec", "changeset", "version"]);
    await this.#pnpm(["install", "--lockfile-only", "--prefer-offline", "--ignore-scripts"]);
    await mustRun("git", ["commit", "--quiet", "--all", "--message", "Version packages"], { cwd: this.#copy });
    return publishedPackages(this.#copy).flatMap(({ folder, manifest }) => {
      const path = join(this.#copy, folder, "CHANGELOG.md");
      const changeLog = existsSync(path) ? readFileSync(path, "utf8") : undefined;
      return releaseProblems({ folder, manifest, versionBefore: before.get(manifest.name), changeLog });
    });
  }

  #addChangeset(): void {
    const lines = publishedPackages(this.#copy).map(({ manifest }) => `"${manifest.name}": patch`);
    writeFileSync(join(this.#copy, ".changeset/rehearsal.md"), `---\n${lines.join("\n")}\n---\n\nRehearses a release.\n`);
  }

  async #publish(): Promise<void> {
    const plan = join(this.#folder, "plan.json");
    const packed = join(this.#folder, "packed");
    await this.#pnpm(["--silent", "run", "build"]);
    const changeset = (...args: string[]): Promise<void> => this.#pnpm(["exec", "changeset", ...args], this.#ofRegistry());
    await changeset("publish-plan", "--output", plan);
    await changeset("pack", "--out-dir", packed, "--from-publish-plan", plan);
    await changeset("publish", "--from-pack-dir", packed);
  }

  async #missing(): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const { manifest } of publishedPackages(this.#copy)) {
      const found = (await this.#registry.versionsOf(manifest.name)).find(({ version }) => version === manifest.version);
      if (found === undefined) problems.push(`${manifest.name}@${manifest.version} is not in the registry`);
      else if (!found.tags.includes("latest")) problems.push(`${manifest.name}@${manifest.version} has the tags ${found.tags.join(", ")}`);
      else if (found.size === 0) problems.push(`${manifest.name}@${manifest.version} is empty`);
    }
    return problems;
  }

  async #runDemo(): Promise<readonly string[]> {
    const cwd = this.#emptyFolder("demo");
    const { code, output } = await run("npx", ["--yes", programName, "demo", "--once"], this.#outside(cwd));
    const { version } = JSON.parse(readFileSync(join(this.#copy, "packages/cli/package.json"), "utf8")) as Manifest;
    const stated = await mustRun("npx", ["--yes", programName, "version"], this.#outside(cwd));
    return [
      ...(code === 0 && output.includes("all 3 pods are Running") ? [] : [`exit code ${code}: ${output}`]),
      ...(stated.includes(version) ? [] : [`the program says it is ${JSON.stringify(stated)}; expected version ${version}`]),
    ];
  }

  async #createProvider(): Promise<readonly string[]> {
    const cwd = this.#emptyFolder("create");
    const npm = (where: string, ...args: string[]): Promise<string> => mustRun("npm", args, this.#outside(where));
    await npm(cwd, "create", "--yes", `${scope}/provider@latest`, "mine");
    const project = join(cwd, "virtual-kubelet-provider-mine");
    await npm(project, "install", "--no-audit", "--no-fund");
    await npm(project, "test");
    const { code, output } = await run("npx", ["virtual-kubelet", "providers", "./"], this.#outside(project));
    return code === 0 ? [] : [output];
  }

  #emptyFolder(name: string): string {
    const path = join(this.#folder, name);
    mkdirSync(path);
    return path;
  }

  /** A command as a user runs it, with the registry on loopback, and a cache of its own that has nothing of ours from elsewhere. */
  #outside(cwd: string): RunOptions {
    return { cwd, env: this.#ofRegistry(), timeoutMs };
  }

  #ofRegistry(): Readonly<Record<string, string>> {
    return { npm_config_userconfig: this.#settings, npm_config_cache: join(this.#folder, "npm-cache"), NO_COLOR: "1" };
  }

  /** Runs pnpm in the repository; only what publishes uses the registry on loopback, because the others take no package of ours from a registry. */
  async #pnpm(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
    await mustRun(this.#pnpmProgram, args, { cwd: this.#copy, env: { ...env, PATH: dirname(this.#pnpmProgram) }, timeoutMs });
  }
}

/** Whether the next release has something to say. */
function hasReleasingChangeset(top: string): boolean {
  return globSync(".changeset/*.md", { cwd: top }).some((file) =>
    /^["'].+["']: (patch|minor|major)$/m.test(readFileSync(join(top, file), "utf8")),
  );
}

await runAsProgram(import.meta, () => checkRelease());
