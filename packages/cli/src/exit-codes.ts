/** An exit code with its meaning. */
export interface ExitCodeInfo {
  readonly code: number;
  readonly meaning: string;
}

/** Exit codes of the program. Those from 64 on are BSD's sysexits. */
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
  ok: { code: 0, meaning: "success, also after a first SIGINT or SIGTERM" },
  failure: { code: 1, meaning: "failed while running" },
  usage: { code: 64, meaning: "unknown command or flag, or a flag without its value" },
  unavailable: { code: 69, meaning: "the node was not ready within --startup-timeout" },
  internal: { code: 70, meaning: "bug in the program or in a provider" },
  config: { code: 78, meaning: "invalid setting, or another instance runs the node; a restart does not help" },
  killed: { code: 130, meaning: "ended at once by a second SIGINT or SIGTERM" },
  terminated: { code: 143, meaning: "ended by the first SIGTERM while waiting for a file or a name that does not answer; SIGINT: 130" },
};
