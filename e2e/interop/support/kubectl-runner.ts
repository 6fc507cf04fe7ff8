import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { TerminalSize } from "@virtual-kubelet/core";
import { startReaper } from "@virtual-kubelet/testing";
import { spawnCommand, type ProcessGroup } from "../../real-process-provider/spawn-command.ts";

/** Exit code and output of kubectl. */
export interface Ended {
  /** Exit code, or the signal that ended kubectl. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running kubectl. */
export interface Running {
  readonly child: ChildProcess;
  /** Output so far. */
  readonly output: { stdout: string; stderr: string };
  readonly ended: Promise<Ended>;
}

/** A running kubectl with its own terminal. */
export interface OnTerminal extends Disposable {
  readonly group: ProcessGroup;
  /** Text on the terminal so far. */
  text(): string;
  type(text: string): void;
}

/** Program and files of a {@link KubectlRunner}. */
export interface KubectlSetup {
  readonly program: string;
  readonly kubeconfig: string;
  readonly namespace: string;
  /** Folder for the discovery cache. */
  readonly directory: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Runs kubectl with streams and without the user's configuration. */
export class KubectlRunner {
  readonly #setup: KubectlSetup;

  constructor(setup: KubectlSetup) {
    this.#setup = setup;
  }

  /** Starts kubectl and collects its output as text. */
  start(...args: readonly string[]): Running {
    const running = this.startQuietly(...args);
    running.child.stdout?.setEncoding("utf8").on("data", (text: string) => (running.output.stdout += text));
    return running;
  }

  /** Starts kubectl and collects only its errors; the caller reads its output. */
  startQuietly(...args: readonly string[]): Running {
    const child = spawn(this.#setup.program, this.#words(args), { env: { PATH: process.env["PATH"], ...this.#env() }, stdio: "pipe" });
    // kubectl may end before it has read all of its input.
    child.stdin.on("error", () => undefined);
    const output = { stdout: "", stderr: "" };
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
    const ended = once(child, "close").then(([code, signal]) => ({ ...output, code: (code ?? signal) as Ended["code"] }));
    return { child, output, ended };
  }

  /** Runs kubectl with this input and waits for its end. */
  run(args: readonly string[], stdin = ""): Promise<Ended> {
    const { child, ended } = this.start(...args);
    child.stdin?.end(stdin);
    return ended;
  }

  /** Starts kubectl with its own terminal. */
  onTerminal(size: TerminalSize, ...args: readonly string[]): OnTerminal {
    const reaper = startReaper();
    const command = [this.#setup.program, ...this.#words(args)];
    const group = spawnCommand({ command, env: this.#env(), cwd: this.#setup.directory, stdin: true, terminal: size }, reaper);
    let text = "";
    group.child.stdout?.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    return {
      group,
      text: () => text,
      type: (typed) => void group.child.stdin?.write(typed),
      [Symbol.dispose]: () => {
        group.signal("SIGKILL");
        reaper[Symbol.dispose]();
      },
    };
  }

  #words(args: readonly string[]): string[] {
    const { kubeconfig, namespace, directory } = this.#setup;
    return [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(directory, "cache")}`, `--namespace=${namespace}`, ...args];
  }

  #env(): Record<string, string> {
    return { HOME: this.#setup.directory, KUBECTL_KUBERC: "false", ...this.#setup.env };
  }
}
