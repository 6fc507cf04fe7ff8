import { Semaphore } from "@virtual-kubelet/async";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

/**
 * Limits the number of sandboxes that are created at once. Engines set up networks one after the other, so with a limit the first pods of
 * many are up sooner: their containers do not wait for the last pod's sandbox.
 */
export function withSandboxesAtOnce(runtime: ContainerRuntime, atOnce: number): ContainerRuntime {
  const semaphore = new Semaphore(atOnce);
  return { ...runtime, createSandbox: (spec, signal) => semaphore.run(() => runtime.createSandbox(spec, signal), signal) };
}
