import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubernetesObject } from "@virtual-kubelet/kube-client";

/** Folder of the chart. */
export const chart: string = fileURLToPath(new URL("../../../deploy/chart", import.meta.url));

/** How Helm ended. */
export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Any object of Kubernetes. */
export type AnyObject = KubernetesObject & Readonly<Record<string, unknown>>;

/** Runs Helm without the user's configuration. Disposing removes its folder. */
export class Helm implements AsyncDisposable {
  readonly #directory: string;
  readonly #kubeconfig: string | undefined;
  #files = 0;

  private constructor(directory: string, kubeconfig: string | undefined) {
    this.#directory = directory;
    this.#kubeconfig = kubeconfig;
  }

  /** @param kubeconfig - path; default: there is no cluster */
  static async open(kubeconfig?: string): Promise<Helm> {
    return new Helm(await mkdtemp(join(tmpdir(), "vk-helm-")), kubeconfig);
  }

  run(...args: readonly string[]): Promise<HelmResult> {
    const env = {
      PATH: process.env["PATH"],
      HOME: this.#directory,
      KUBECONFIG: this.#kubeconfig ?? join(this.#directory, "none"),
    };
    return new Promise((resolve) => {
      execFile(inject("helm"), args, { env, maxBuffer: 2 ** 24, timeout: 300_000 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : 1, stdout, stderr });
      });
    });
  }

  /** Flags for a command that takes values. */
  async values(values: object): Promise<string[]> {
    const path = join(this.#directory, `values-${++this.#files}.json`);
    await writeFile(path, JSON.stringify(values));
    return ["--values", path];
  }

  /** Renders the chart, as release vk in namespace vk-system. */
  async render(values: object): Promise<HelmResult> {
    return await this.run("template", "vk", chart, "--namespace", "vk-system", ...(await this.values(values)));
  }

  /** Objects of the rendered chart. @throws Error with Helm's message */
  async objects(values: object): Promise<AnyObject[]> {
    const { code, stdout, stderr } = await this.render(values);
    if (code !== 0) throw new Error(stderr);
    return parseAllDocuments(stdout).flatMap((document) => {
      const object = document.toJS() as AnyObject | null;
      return object === null ? [] : [object];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
