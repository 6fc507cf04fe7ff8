import { openControlPlane, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import type { KubernetesObject } from "@virtual-kubelet/kube-client";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject } from "vitest";
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

  /** Runs kubectl. @param words - the arguments, or a text with the arguments separated by spaces */
  run(words: string | readonly string[], stdin?: string): Promise<Ended> {
    return this.kubectl.run(typeof words === "string" ? words.split(" ") : words, stdin);
  }

  /** Runs kubectl, which must succeed. @returns its output */
  async say(words: string | readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(words, stdin);
    expect(code, `kubectl ${typeof words === "string" ? words : words.join(" ")}: ${stderr}${stdout}`).toBe(0);
    return stdout;
  }

  /** Changes an object by a merge patch. */
  async patch(object: string, patch: object, ...more: readonly string[]): Promise<void> {
    await this.say(["patch", ...object.split(" "), "--type=merge", "-p", JSON.stringify(patch), ...more]);
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

  /** Creates the namespace and waits until pods can be created in it. Disposing the result deletes it. */
  async createNamespace(): Promise<AsyncDisposable> {
    await this.say(`create namespace ${this.namespace}`);
    await this.say(`wait serviceaccount/default --for=create ${podTimeout}`);
    return {
      [Symbol.asyncDispose]: async () => void (await this.access.kubectl(["delete", "namespace", this.namespace, "--wait=false"])),
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 3 });
  }
}
