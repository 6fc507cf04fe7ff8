import type { TerminalSize } from "@virtual-kubelet/core";

/** Sizes for a command without a terminal. */
export async function* noResizes(): AsyncGenerator<TerminalSize, void, undefined> {}
