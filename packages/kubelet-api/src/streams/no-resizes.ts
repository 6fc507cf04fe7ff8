import type { TerminalSize } from "@virtual-kubelet/core";

/** The sizes of what is no terminal: there are none. */
export async function* noResizes(): AsyncGenerator<TerminalSize, void, undefined> {}
