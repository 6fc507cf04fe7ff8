import { Semaphore } from "@virtual-kubelet/async";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

/**
 * A runtime that makes only so many sandboxes at once. Engines set up networks one after the other: pods that come in a crowd
 * are up sooner where few are begun at once, and the containers of the first need not wait for the sandbox of the last.
 */
export function withSandboxesAtOnce(runtime: ContainerRuntime, atOnce: number): ContainerRuntime {
  const semaphore = new Semaphore(atOnce);
  return { ...runtime, createSandbox: (spec, signal) => semaphore.run(() => runtime.createSandbox(spec, signal), signal) };
}
