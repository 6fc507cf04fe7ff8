import { openControlPlane, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import type { KubernetesObject } from "@virtual-kubelet/kube-client";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished } from "vitest";
import { KubectlRunner, type Ended } from "../../interop/support/kubectl-runner.ts";

/** Time-out of kubectl for the start and the removal of a pod on a busy machine. */
export const podTimeout = "--timeout=240s";

/** A cluster as its users see it: through kubectl. Disposing removes kubectl's files. */
export class Cluster implements Disposable {
  readonly access: ControlPlaneAccess;
  /** Runs commands in {@link namespace}, with streams. */
  readonly kubectl: KubectlRunner;
  /** Namespace of all commands that name no other. */
  readonly namespace: string;
  readonly #directory: string;

  constructor(access: ControlPlaneAccess, namespace: string) {
    this.access = access;
    this.namespace = namespace;
    this.#directory = mkdtempSync(join(tmpdir(), "vk-kubectl-"));
    const { programs } = JSON.parse(readFileSync(join(access.directory, "control-plane.json"), "utf8")) as { programs: string };
    this.kubectl = new KubectlRunner({
      program: join(programs, "kubectl"),
      kubeconfig: access.kubeconfig.path,
      namespace,
      directory: this.#directory,
    });
  }

  /** The home cluster that all files of the level share. */
  static home(namespace: string): Cluster {
    return new Cluster(openControlPlane(inject("homeControlPlane")), namespace);
  }

  /** The far cluster that all files of the level share. */
  static far(namespace: string): Cluster {
    return new Cluster(openControlPlane(inject("farControlPlane")), namespace);
  }

  /** Runs kubectl. The words are separated by spaces. */
  run(words: string, stdin?: string): Promise<Ended> {
    return this.kubectl.run(words.split(" "), stdin);
  }

  /** Runs kubectl, which must succeed. @returns its output */
  async say(words: string, stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(words, stdin);
    expect(code, `kubectl ${words}: ${stderr}${stdout}`).toBe(0);
    return stdout;
  }

  /** Output of kubectl as JSON. */
  async json<T = KubernetesObject>(words: string): Promise<T> {
    return JSON.parse(await this.say(`${words} -o json`)) as T;
  }

  /** Objects of a list. */
  async list<T = KubernetesObject>(words: string): Promise<readonly T[]> {
    return (await this.json<{ readonly items: readonly T[] }>(words)).items;
  }

  /** Creates objects, and changes those that exist. */
  async apply(...objects: readonly object[]): Promise<void> {
    await this.say("apply -f -", objects.map((each) => JSON.stringify(each)).join("\n---\n"));
  }

  /** Creates the namespace and waits until pods can be created in it. The test's end deletes it. */
  async createNamespace(): Promise<void> {
    await this.say(`create namespace ${this.namespace}`);
    onTestFinished(async () => void (await this.access.kubectl(["delete", "namespace", this.namespace, "--wait=false"])));
    await this.say(`wait serviceaccount/default --for=create ${podTimeout}`);
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 3 });
  }
}
