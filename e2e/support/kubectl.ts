import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { findControlPlane } from "@virtual-kubelet/testing";

/** A kubectl of this machine. */
export interface FoundKubectl {
  readonly program: string;
  /** Such as `v1.36.3`. */
  readonly version: string;
}

/**
 * The stock kubectls of this machine, oldest first: the one on the PATH, the `kubectl.1.NN` beside it, which some
 * distributions of it bring along, and the one that was built with the control plane. `KUBECTL` names one instead of all these.
 *
 * @throws Error if there is none
 */
export async function findKubectls(): Promise<FoundKubectl[]> {
  const programs = kubectlPrograms();
  if (programs.length === 0) throw new Error(noKubectl);
  const found = await Promise.all(programs.map(async (program) => ({ program, version: await versionOf(program) })));
  const byVersion = new Map(found.map((one) => [one.version, one]));
  return [...byVersion.values()].toSorted((a, b) => a.version.localeCompare(b.version, "en", { numeric: true }));
}

/** The kubectl that most tests run: the control plane's own, else the newest of {@link findKubectls}. @throws Error if there is none */
export async function findKubectl(): Promise<FoundKubectl> {
  const own = process.env["KUBECTL"] ? undefined : kubectlOfControlPlane();
  const [found] = own === undefined ? (await findKubectls()).toReversed() : [{ program: own, version: await versionOf(own) }];
  if (found === undefined) throw new Error(noKubectl);
  return found;
}

const noKubectl =
  "there is no kubectl for these tests: put one on the PATH, set KUBECTL, or run make test LEVEL=kubectl, which builds one with Go";

function kubectlPrograms(): string[] {
  const named = process.env["KUBECTL"];
  if (named) return [named];
  const onPath = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "kubectl"))
    .find((file) => existsSync(file));
  const own = kubectlOfControlPlane();
  return [...(onPath === undefined ? [] : withSiblings(realpathSync(onPath))), ...(own === undefined ? [] : [own])];
}

/** kubectl of the control plane's version, if it was built or is in `KUBEBUILDER_ASSETS`. */
function kubectlOfControlPlane(): string | undefined {
  const lookup = findControlPlane({ programs: ["kubectl"] });
  return lookup.status === "found" ? realpathSync(join(lookup.directory, "kubectl")) : undefined;
}

function withSiblings(program: string): string[] {
  const folder = dirname(program);
  const siblings = readdirSync(folder).filter((file) => /^kubectl\.1\.\d+$/.test(file));
  return [program, ...siblings.map((file) => join(folder, file))];
}

async function versionOf(program: string): Promise<string> {
  const { stdout } = await run(program, ["version", "--client", "--output=json"]).result;
  return (JSON.parse(stdout) as { clientVersion: { gitVersion: string } }).clientVersion.gitVersion;
}

/** Output of kubectl. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** kubectl with a kubeconfig, and with nothing of the user's own configuration. */
export class Kubectl {
  readonly #program: string;
  readonly #folder: string;

  /** @param folder - holds the file `kubeconfig`; the discovery cache goes there, too */
  constructor(program: string, folder: string) {
    this.#program = program;
    this.#folder = folder;
  }

  /** Runs it to its end. @returns what it printed on standard output; @throws Error if it failed */
  async print(words: string, stdin: string = ""): Promise<string> {
    const { stdout, stderr, code } = await this.try(words, stdin);
    if (code !== 0) throw new Error(`kubectl ${words}: exit code ${code}\n${stderr}${stdout}`);
    return stdout;
  }

  /** The same, where failing is an answer. */
  try(words: string, stdin: string = ""): Promise<Printed> {
    const { child, result } = this.start(words);
    child.stdin?.end(stdin);
    return result;
  }

  /** Starts one that goes on until it is killed. */
  start(words: string): Started {
    const options = [`--kubeconfig=${join(this.#folder, "kubeconfig")}`, `--cache-dir=${join(this.#folder, "cache")}`];
    return run(this.#program, [...words.split(" "), ...options], this.#folder);
  }
}

/** A kubectl that runs. */
export interface Started {
  readonly child: ChildProcess;
  /** Output so far. */
  readonly output: { stdout: string; stderr: string };
  readonly result: Promise<Printed>;
}

function run(program: string, words: readonly string[], home: string = "/"): Started {
  const child = spawn(program, words, {
    env: { PATH: process.env["PATH"], HOME: home, KUBECTL_KUBERC: "false" },
    stdio: ["pipe", "pipe", "pipe"],
    timeout: 110_000,
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  // It may end without reading all of it.
  child.stdin.on("error", () => undefined);
  const result = once(child, "close").then(([code]) => ({ ...output, code: code as number | null }));
  return { child, output, result };
}
