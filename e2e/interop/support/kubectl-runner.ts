import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { TerminalSize } from "@virtual-kubelet/core";
import { startReaper } from "@virtual-kubelet/testing";
import { spawnCommand, type ProcessGroup } from "../../real-process-provider/spawn-command.ts";

/** How kubectl ended, and what it printed. */
export interface Ended {
  /** The signal if one ended it. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** A kubectl that runs. */
export interface Running {
  readonly child: ChildProcess;
  /** What it printed until now. */
  readonly output: { stdout: string; stderr: string };
  readonly ended: Promise<Ended>;
}

/** kubectl on a terminal of its own. */
export interface OnTerminal extends Disposable {
  readonly group: ProcessGroup;
  /** What the terminal shows. */
  text(): string;
  type(text: string): void;
}

/** What kubectl is started with. */
export interface KubectlSetup {
  readonly program: string;
  readonly kubeconfig: string;
  readonly namespace: string;
  /** For its discovery cache. */
  readonly directory: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Runs kubectl with streams, and with nothing of the user's own configuration. */
export class KubectlRunner {
  readonly #setup: KubectlSetup;

  constructor(setup: KubectlSetup) {
    this.#setup = setup;
  }

  /** Starts it. Its output is collected as text. */
  start(...args: readonly string[]): Running {
    const running = this.startQuietly(...args);
    running.child.stdout?.setEncoding("utf8").on("data", (text: string) => (running.output.stdout += text));
    return running;
  }

  /** Starts it; only its errors are collected, its output is the caller's to read. */
  startQuietly(...args: readonly string[]): Running {
    const child = spawn(this.#setup.program, this.#words(args), { env: { PATH: process.env["PATH"], ...this.#env() }, stdio: "pipe" });
    // It may end without reading all of its input.
    child.stdin.on("error", () => undefined);
    const output = { stdout: "", stderr: "" };
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
    const ended = once(child, "close").then(([code, signal]) => ({ ...output, code: (code ?? signal) as Ended["code"] }));
    return { child, output, ended };
  }

  /** Runs it to its end, with this input. */
  run(args: readonly string[], stdin = ""): Promise<Ended> {
    const { child, ended } = this.start(...args);
    child.stdin?.end(stdin);
    return ended;
  }

  /** Starts it on a terminal of its own. */
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
