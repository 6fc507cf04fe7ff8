import { eventually } from "@virtual-kubelet/testing";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { Program } from "../../support/program.ts";
import { soon } from "./program-rig.ts";

/** A proxy in its own process. */
export class ProxyProcess implements AsyncDisposable {
  readonly #program: Program;

  private constructor(env: Record<string, string>) {
    const main = fileURLToPath(new URL("connect-proxy.ts", import.meta.url));
    this.#program = new Program([], { cwd: tmpdir(), main, env });
  }

  static async start(env: Record<string, string> = {}): Promise<ProxyProcess> {
    const proxy = new ProxyProcess(env);
    await eventually(() => expect(proxy.port).toBeGreaterThan(0), soon);
    return proxy;
  }

  get port(): number {
    return Number(/^listening (\d+)$/m.exec(this.#program.stdout)?.[1]);
  }

  /** Distinct requests with their responses. */
  get asked(): string[] {
    return [...new Set(this.#program.stdout.split("\n").filter((line) => line.startsWith("CONNECT")))];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program[Symbol.asyncDispose]();
  }
}
