/**
 * Pods in OpenStack Zun: containers and capsules of a cloud.
 *
 * @packageDocumentation
 */
export { zunConfigSchema, type ZunAuthConfig, type ZunConfig, type ZunMode } from "./config/schema.ts";
export { provider } from "./provider.ts";
