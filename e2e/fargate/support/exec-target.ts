import { podRef, type AttachIO } from "@virtual-kubelet/core";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { ProcessHost } from "../../support/container-host/process-host.ts";
import { RealTimeFargate } from "./real-time-fargate.ts";

/** Output and exit code of a command. */
export interface CommandResult {
  readonly exitCode: number;
  readonly output: Buffer;
}

/** A running pod of the provider, whose container is a process, to run commands in. */
export interface ExecTarget extends AsyncDisposable {
  readonly fargate: RealTimeFargate;
  /** Runs a command. @param changes - streams other than an output without a terminal */
  run(command: readonly string[], changes?: Partial<AttachIO>): Promise<CommandResult>;
}

export async function openExecTarget(): Promise<ExecTarget> {
  const fargate = await RealTimeFargate.start(new ProcessHost());
  const node = await fargate.open();
  const pod = await fargate.create(node, {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "busybox", command: ["sleep", "600"] }],
  });
  return {
    fargate,
    async run(command, changes = {}) {
      const stdout = new PassThrough();
      const output = buffer(stdout);
      const io = { stdin: undefined, stdout, stderr: undefined, tty: false, resizes: (async function* () {})(), ...changes };
      try {
        const result = await node.runInContainer?.(podRef(pod), "main", command, io, new AbortController().signal);
        stdout.end();
        return { exitCode: result?.exitCode ?? -1, output: await output };
      } finally {
        stdout.end();
      }
    },
    [Symbol.asyncDispose]: () => fargate[Symbol.asyncDispose](),
  };
}
