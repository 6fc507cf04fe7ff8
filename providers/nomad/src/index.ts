/**
 * A provider that runs pods as jobs of HashiCorp Nomad.
 *
 * @packageDocumentation
 */
export {
  nomadConfigSchema,
  type NomadCapacityConfig,
  type NomadConfig,
  type NomadConstraintConfig,
  type NomadDriver,
  type NomadLogsConfig,
  type NomadReserveConfig,
  type NomadRestartConfig,
  type NomadTlsConfig,
  type NomadVolumeConfig,
} from "./config.ts";
export { provider } from "./provider.ts";
