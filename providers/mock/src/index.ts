/** A provider that runs no containers, but simulates pods in memory according to scripts. @packageDocumentation */
export {
  mockConfigSchema,
  nodeConfigOf,
  type MockConfig,
  type MockNodeConfig,
  type MockStage,
  type MockStageMatch,
  type ResolvedMockNodeConfig,
} from "./config.ts";
export { MockProvider } from "./mock-provider.ts";
export type { MockHost } from "./mock-host.ts";
export { UsedAddresses } from "./pod/used-addresses.ts";
export { provider } from "./provider.ts";
export type { MockFailure, MockScriptSettings } from "./script/script-fields.ts";
