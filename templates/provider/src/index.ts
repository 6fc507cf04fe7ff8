/**
 * Virtual Kubelet provider that runs each pod as a process of this machine.
 *
 * @packageDocumentation
 */
export type { Config } from "./config.ts";
export { provider } from "./provider.ts";
