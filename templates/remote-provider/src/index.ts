/**
 * Virtual Kubelet provider that runs each pod as a job of a remote API.
 *
 * @packageDocumentation
 */
export type { Config } from "./config.ts";
export { provider } from "./provider.ts";
