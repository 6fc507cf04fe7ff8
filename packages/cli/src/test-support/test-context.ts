import { systemRandom, type Clock } from "@virtual-kubelet/clock";
import type { Context, Output } from "../context.ts";

/** Keeps what is written. */
export class TextOutput implements Output {
  readonly isTTY: boolean;
  text = "";

  constructor(isTTY: boolean = false) {
    this.isTTY = isTTY;
  }

  write(text: string): void {
    this.text += text;
  }
}

/** A context without a process: nothing of this machine is in it. */
export interface TestContext extends Context {
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
}

/** A {@link TestContext}; what it is given goes over what it has. */
export function testContext(clock: Clock, given: Partial<Pick<Context, "env" | "cwd" | "homeDir" | "signal">> = {}): TestContext {
  return {
    stdout: new TextOutput(),
    stderr: new TextOutput(),
    env: {},
    cwd: "/nowhere",
    homeDir: "/home/me",
    isRoot: false,
    invocation: { node: "/usr/bin/node", nodeFlags: [], program: "/usr/bin/virtual-kubelet" },
    pid: 1,
    hostName: "host-1",
    hostAddresses: ["192.0.2.1"],
    clock,
    random: systemRandom,
    signal: new AbortController().signal,
    ...given,
  };
}
