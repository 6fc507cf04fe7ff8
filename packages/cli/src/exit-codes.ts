/** An exit code with its meaning. */
export interface ExitCodeInfo {
  readonly code: number;
  readonly meaning: string;
  /** What to do about it, with commands in backquotes. */
  readonly remedy: string;
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
  ok: { code: 0, meaning: "success, also after a first SIGINT or SIGTERM", remedy: "Nothing." },
  failure: {
    code: 1,
    meaning: "failed while running",
    remedy: "The last lines of standard error say why. A supervisor may start the program again.",
  },
  usage: {
    code: 64,
    meaning: "unknown command or flag, or a flag without its value",
    remedy: "Correct the command line: `virtual-kubelet help COMMAND`. A restart does not help.",
  },
  unavailable: {
    code: 69,
    meaning: "the node was not ready within --startup-timeout",
    remedy: "Check that the API server and the provider's back end can be reached: `virtual-kubelet run --dry-run` with the same settings.",
  },
  internal: {
    code: 70,
    meaning: "bug in the program or in a provider",
    remedy: "Report it with the stack trace on standard error. A supervisor may start the program again.",
  },
  config: {
    code: 78,
    meaning: "invalid setting, or another instance runs the node; a restart does not help",
    remedy: "Correct the setting that the message names: `virtual-kubelet config validate` checks them all.",
  },
  killed: {
    code: 130,
    meaning: "ended at once by a second SIGINT or SIGTERM",
    remedy: "Give the program more time to end: one signal, and then at least --shutdown-timeout.",
  },
  terminated: {
    code: 143,
    meaning: "ended by the first SIGTERM while waiting for a file or a name that does not answer; SIGINT: 130",
    remedy: "Find out which file system or name server does not answer.",
  },
};
