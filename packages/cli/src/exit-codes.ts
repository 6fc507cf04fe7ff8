/** An exit code and what it says. */
export interface ExitCodeInfo {
  readonly code: number;
  readonly meaning: string;
}

/** What the program's exit codes mean; those of 64 and above are BSD's sysexits. */
export const exitCodes: {
  readonly ok: ExitCodeInfo;
  readonly failure: ExitCodeInfo;
  readonly usage: ExitCodeInfo;
  readonly unavailable: ExitCodeInfo;
  readonly internal: ExitCodeInfo;
  readonly config: ExitCodeInfo;
  readonly killed: ExitCodeInfo;
  readonly terminated: ExitCodeInfo;
} = {
  ok: { code: 0, meaning: "all went well; also after a first SIGINT or SIGTERM" },
  failure: { code: 1, meaning: "it failed while it ran" },
  usage: { code: 64, meaning: "an unknown command or flag, or a flag without its value" },
  unavailable: { code: 69, meaning: "the node was not ready within --startup-timeout" },
  internal: { code: 70, meaning: "a fault in the program or in a provider" },
  config: { code: 78, meaning: "a setting is wrong, or another instance runs the node; starting again does not help" },
  killed: { code: 130, meaning: "a second SIGINT or SIGTERM ended it at once" },
  terminated: { code: 143, meaning: "the first SIGTERM ended it while it waited for a file or a name that does not answer; SIGINT: 130" },
};
